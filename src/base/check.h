// MUSTER_CHECK: a broken precondition is a bug in Muster. Never reachable from a file, a flag or a peer.
#pragma once

#include <fmt/format.h>

#include <string>

namespace muster {
[[noreturn]] void check_failed(const char* file, int line, const char* condition, const std::string& message);
}  // namespace muster

#define MUSTER_CHECK(condition, ...)                                                      \
  do {                                                                                    \
    if (!(condition)) [[unlikely]]                                                        \
      ::muster::check_failed(__FILE__, __LINE__, #condition, ::fmt::format(__VA_ARGS__)); \
  } while (false)
