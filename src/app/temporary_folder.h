// TemporaryFolder: a folder in the system's temporary one, removed with all it holds at the end.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace muster {

class TemporaryFolder {
 public:
  [[nodiscard]] static Result<TemporaryFolder> create() {
    std::error_code error;
    std::string pattern = (std::filesystem::temp_directory_path(error) / "muster-bench-XXXXXX").string();
    if (error || !::mkdtemp(pattern.data())) return failure("{}: cannot make a temporary folder", pattern);
    return TemporaryFolder(pattern);
  }

  [[nodiscard]] const std::filesystem::path& path() const { return *path_; }
  [[nodiscard]] std::filesystem::path operator/(std::string_view name) const { return *path_ / name; }

 private:
  struct Remove {
    void operator()(const std::filesystem::path* path) const {
      std::error_code ignored;
      std::filesystem::remove_all(*path, ignored);
      delete path;
    }
  };
  explicit TemporaryFolder(const std::string& path) : path_(new std::filesystem::path(path)) {}

  std::unique_ptr<const std::filesystem::path, Remove> path_;
};

}  // namespace muster
