// The command line as a fixture: runs the built program in a folder of its own.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "process.h"

namespace muster {

using Words = std::vector<std::string>;

// The run below a folder of runs, once it has a recipe; "" before.
inline std::string only_run(const std::filesystem::path& runs) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(runs, error)) {
    if (std::filesystem::exists(entry.path() / "recipe.toml")) return entry.path().string();
  }
  return "";
}

class CommandLineTest : public testing::Test {
 protected:
  Finished muster(Words words) const {
    words.insert(words.begin(), MUSTER_BINARY);
    return Process(scratch_, words).wait();
  }
  std::string file(const std::string& name, const std::string& content) const {
    const auto path = scratch_.path() / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << content;
    return path.string();
  }
  // One line on stderr, nothing on stdout, the given status.
  void expect_error(const Words& words, int status, const testing::Matcher<const std::string&>& message) const {
    const Finished finished = muster(words);
    EXPECT_EQ(finished.status, status) << finished.err;
    EXPECT_EQ(finished.out, "");
    EXPECT_EQ(std::count(finished.err.begin(), finished.err.end(), '\n'), 1) << finished.err;
    EXPECT_THAT(finished.err, message);
  }

  ScratchFolder scratch_;
};

}  // namespace muster
