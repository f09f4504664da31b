#include "base/file.h"

#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

namespace muster {
namespace {

struct FileCloser {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

std::string reason() { return std::strerror(errno); }

}  // namespace

Result<std::vector<std::uint8_t>> gunzip(std::span<const std::uint8_t> packed, std::uint64_t limit) {
  z_stream stream{};
  if (inflateInit2(&stream, 16 + MAX_WBITS) != Z_OK) return failure("cannot start gzip decompression");
  const auto end = [](z_stream* s) { inflateEnd(s); };
  const std::unique_ptr<z_stream, decltype(end)> guard(&stream, end);

  std::vector<std::uint8_t> out;
  std::vector<std::uint8_t> chunk(std::size_t{1} << 18);
  std::size_t consumed = 0;
  int code = Z_OK;
  while (code != Z_STREAM_END) {
    if (stream.avail_in == 0) {
      const std::size_t take = std::min<std::size_t>(packed.size() - consumed, std::size_t{1} << 20);
      stream.next_in = const_cast<Bytef*>(packed.data() + consumed);
      stream.avail_in = static_cast<uInt>(take);
      consumed += take;
    }
    stream.next_out = chunk.data();
    stream.avail_out = static_cast<uInt>(chunk.size());
    code = inflate(&stream, Z_NO_FLUSH);
    if (code != Z_OK && code != Z_STREAM_END) return failure("broken or truncated gzip data");
    const std::size_t produced = chunk.size() - stream.avail_out;
    if (out.size() + produced > limit) return failure("unpacks to more than the limit of {} bytes", limit);
    out.insert(out.end(), chunk.begin(), chunk.begin() + static_cast<std::ptrdiff_t>(produced));
    if (code == Z_OK && produced == 0 && stream.avail_in == 0 && consumed == packed.size()) {
      return failure("broken or truncated gzip data");
    }
  }
  return out;
}

Result<std::vector<std::uint8_t>> read_file(const std::filesystem::path& path, std::uint64_t limit) {
  std::error_code folder_error;
  if (std::filesystem::is_directory(path, folder_error)) return failure("{}: is a folder, want a file", path.string());
  const std::unique_ptr<std::FILE, FileCloser> file(std::fopen(path.c_str(), "rb"));
  if (!file) return failure("{}: cannot open: {}", path.string(), reason());
  std::vector<std::uint8_t> bytes;
  std::vector<std::uint8_t> chunk(std::size_t{1} << 20);
  while (const std::size_t got = std::fread(chunk.data(), 1, chunk.size(), file.get())) {
    if (bytes.size() + got > limit) return failure("{}: larger than the limit of {} bytes", path.string(), limit);
    bytes.insert(bytes.end(), chunk.begin(), chunk.begin() + static_cast<std::ptrdiff_t>(got));
  }
  if (std::ferror(file.get())) return failure("{}: cannot read: {}", path.string(), reason());
  if (bytes.size() >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b) {
    auto unpacked = gunzip(bytes, limit);
    if (!unpacked) return std::move(unpacked).error().within(path.string());
    return unpacked;
  }
  return bytes;
}

Status write_file(const std::filesystem::path& path, std::string_view content) {
  const std::string temporary = path.string() + ".tmp";
  const auto fail = [&](const char* what) -> Status {
    Error error = failure("{}: cannot {}: {}", path.string(), what, reason());
    ::unlink(temporary.c_str());
    return error;
  };
  const int descriptor = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (descriptor < 0) return fail("write");
  std::size_t written = 0;
  while (written < content.size()) {
    const ssize_t n = ::write(descriptor, content.data() + written, content.size() - written);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      const int saved = errno;
      ::close(descriptor);
      errno = saved;
      return fail("write");
    }
    written += static_cast<std::size_t>(n);
  }
  if (::fsync(descriptor) != 0) {
    const int saved = errno;
    ::close(descriptor);
    errno = saved;
    return fail("flush");
  }
  if (::close(descriptor) != 0) return fail("close");
  if (::rename(temporary.c_str(), path.c_str()) != 0) return fail("rename");
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
  if (const int f = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); f >= 0) {
    ::fsync(f);
    ::close(f);
  }
  return {};
}

Status make_folder(const std::filesystem::path& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) return failure("{}: cannot create folder: {}", path.string(), error.message());
  if (::access(path.c_str(), W_OK | X_OK) != 0) return failure("{}: cannot write to folder: {}", path.string(), reason());
  return {};
}

}  // namespace muster
