// LedgerFile: lines that are only ever added to. They wait in memory until put_down(), which hands all of them to the
// kernel at once: whatever ends the process, the file holds the beginning of what was added, in order, and perhaps a
// last line that was cut short, which open() drops. What the lines mean is not known here.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/file.h"

namespace muster {

// Not thread-safe.
class LedgerFile {
 public:
  // Makes the file if it is not there.
  [[nodiscard]] static Result<LedgerFile> open(const std::filesystem::path& path);

  // `line`: without its end.
  void add(std::string_view line);
  // What was added outlives this process.
  [[nodiscard]] Status put_down();
  // And the machine's next start.
  [[nodiscard]] Status sync();

 private:
  explicit LedgerFile(FileAppender file) : file_(std::move(file)) {}

  FileAppender file_;
  std::string waiting_;
};

}  // namespace muster
