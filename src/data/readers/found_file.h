// A file of a data set under its name, plain or gzipped.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace muster {

[[nodiscard]] inline std::optional<std::filesystem::path> found_file(const std::filesystem::path& folder,
                                                                     const std::string& name) {
  std::error_code error;
  for (const char* ending : {"", ".gz"}) {
    if (std::filesystem::path path = folder / (name + ending); std::filesystem::is_regular_file(path, error))
      return path;
  }
  return std::nullopt;
}

}  // namespace muster
