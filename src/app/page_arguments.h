// --ui and --port of commands that run something: the live page beside it, in the same process.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "app/argument_parser.h"
#include "web/live_page.h"

namespace muster {

struct PageArguments {
  bool ui = false;
  std::optional<std::uint32_t> port;

  void add_to(Command command);
  // Null if none is wanted. Says on stderr where it is. It ends with the run: with what is returned.
  [[nodiscard]] Result<std::unique_ptr<LivePage>> start(const std::filesystem::path& out,
                                                        RosterSource roster = {}) const;
  // Once the run is over and the page is gone: how to look at it from now on.
  void say_afterwards(const std::filesystem::path& out, bool quiet) const;
};

}  // namespace muster
