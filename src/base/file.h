// Files: whole-file reads with a size limit, transparent gzip, and writes that are never half done.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace muster {

// The bytes of `path`, unpacked if they start with the gzip magic. Fails, naming the path, if the file cannot be
// read, is a torn gzip stream, or has more than `limit` bytes after unpacking.
[[nodiscard]] Result<std::vector<std::uint8_t>> read_file(const std::filesystem::path& path,
                                                          std::uint64_t limit = std::uint64_t{16} << 30);

// Unpacks gzip data held in memory; same limits and errors.
[[nodiscard]] Result<std::vector<std::uint8_t>> gunzip(std::span<const std::uint8_t> packed, std::uint64_t limit);

// Writes `content` to a temporary file beside `path`, fsyncs it, renames it over `path`, and fsyncs the folder.
// On failure `path` is as it was.
[[nodiscard]] Status write_file(const std::filesystem::path& path, std::string_view content);
// The same where a user names the file: a pipe or a device is written to as it is, where a rename would put a file in
// its place. It may wait for a pipe's reader, so a program's own files are not written so.
[[nodiscard]] Status write_output(const std::filesystem::path& path, std::string_view content);
// write_file() for content in several parts, one after the other.
[[nodiscard]] Status write_file(const std::filesystem::path& path, std::span<const std::string_view> parts);
// For what can be made again from other files: whole or as it was, but nobody waits for the disk.
[[nodiscard]] Status write_derived_file(const std::filesystem::path& path, std::string_view content);

// A file that is written piece by piece, to a temporary one beside `path`, and appears there only when it is whole.
// Without finish(), `path` stays as it was.
class FileWriter {
 public:
  [[nodiscard]] static Result<FileWriter> create(const std::filesystem::path& path);
  ~FileWriter();
  FileWriter(FileWriter&& other) noexcept;
  FileWriter& operator=(FileWriter&&) = delete;

  [[nodiscard]] Status write(std::string_view content);
  // Fsyncs the file, renames it over `path`, and fsyncs the folder. Nothing may be written after.
  [[nodiscard]] Status finish();
  // Renames it only.
  [[nodiscard]] Status finish_unflushed();

 private:
  [[nodiscard]] Status put_in_place();

  FileWriter(const std::filesystem::path& path, int descriptor) : path_(path), descriptor_(descriptor) {}

  std::filesystem::path path_;
  int descriptor_;  // of the temporary file; -1: it is no more
};

// A file that grows at its end. What was appended is the kernel's when append() returns, so it outlives this process;
// the machine's end it outlives after sync(). Not thread-safe.
class FileAppender {
 public:
  // Makes the file if it is not there.
  [[nodiscard]] static Result<FileAppender> open(const std::filesystem::path& path);
  ~FileAppender();
  FileAppender(FileAppender&& other) noexcept;
  FileAppender& operator=(FileAppender&&) = delete;

  // All of it; on failure the file ends where it did before, if the disk lets it.
  [[nodiscard]] Status append(std::string_view content);
  [[nodiscard]] Status sync();

 private:
  FileAppender(const std::filesystem::path& path, int descriptor) : path_(path), descriptor_(descriptor) {}

  std::filesystem::path path_;
  int descriptor_;
};

// Creates the folder and its parents; fails, naming the path, if that cannot be done or it cannot be written to.
[[nodiscard]] Status make_folder(const std::filesystem::path& path);

}  // namespace muster
