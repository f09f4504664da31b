#include "base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <utility>

#include "base/fail_point.h"
#include "base/huge_pages.h"

namespace muster {
namespace {

struct FileCloser {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

constexpr std::uint8_t kGzipMagic[2] = {0x1f, 0x8b};

std::string reason() {
  return std::strerror(errno);
}

// By errno.
Error cannot(const char* what, const std::filesystem::path& path) {
  return failure("{}: cannot {}: {}", path.string(), what, reason());
}

std::string temporary_of(const std::filesystem::path& path) {
  return path.string() + ".tmp";
}

// False, with errno set, if that fails.
bool write_all(int descriptor, std::string_view rest) {
  while (!rest.empty()) {
    const ssize_t n = ::write(descriptor, rest.data(), rest.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    rest.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

Status write_stream(const std::filesystem::path& path, std::string_view content) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  const bool written = descriptor >= 0 && write_all(descriptor, content);
  Status status;
  if (!written) status = cannot("write", path);
  if (descriptor >= 0) ::close(descriptor);
  return status;
}

// The last four bytes of gzip data tell the unpacked size, in truth if there is but one member below 4 GB. It is only
// believed where memory for it is no waste.
std::uint64_t likely_unpacked(std::span<const std::uint8_t> packed) {
  if (packed.size() < 4) return 0;
  std::uint64_t size = 0;
  for (std::size_t i = 1; i <= 4; ++i) size = size << 8 | packed[packed.size() - i];
  return std::min(size, std::uint64_t{packed.size()} * 16);
}

}  // namespace

Result<std::vector<std::uint8_t>> gunzip(std::span<const std::uint8_t> packed, std::uint64_t limit) {
  z_stream stream{};
  if (inflateInit2(&stream, 16 + MAX_WBITS) != Z_OK) return failure("cannot start gzip decompression");
  const auto end = [](z_stream* s) { inflateEnd(s); };
  const std::unique_ptr<z_stream, decltype(end)> guard(&stream, end);

  std::vector<std::uint8_t> out;
  reserve_huge(out, static_cast<std::size_t>(std::min<std::uint64_t>(likely_unpacked(packed), limit)));
  std::vector<std::uint8_t> chunk(std::size_t{1} << 18);
  std::size_t consumed = 0;
  while (true) {
    if (stream.avail_in == 0) {
      const std::size_t take = std::min<std::size_t>(packed.size() - consumed, std::size_t{1} << 20);
      stream.next_in = const_cast<Bytef*>(packed.data() + consumed);
      stream.avail_in = static_cast<uInt>(take);
      consumed += take;
    }
    stream.next_out = chunk.data();
    stream.avail_out = static_cast<uInt>(chunk.size());
    // At the end of the input inflate makes no progress and says so (Z_BUF_ERROR): the data is cut short.
    const int code = inflate(&stream, Z_NO_FLUSH);
    if (code != Z_OK && code != Z_STREAM_END) return failure("broken or truncated gzip data");
    const std::size_t produced = chunk.size() - stream.avail_out;
    if (out.size() + produced > limit) return failure("unpacks to more than the limit of {} bytes", limit);
    out.insert(out.end(), chunk.begin(), chunk.begin() + static_cast<std::ptrdiff_t>(produced));
    if (code == Z_STREAM_END) {
      // A gzip file may hold several members one after the other (parallel compressors write such files), then padding.
      const auto rest = packed.subspan(consumed - stream.avail_in);
      if (std::all_of(rest.begin(), rest.end(), [](std::uint8_t byte) { return byte == 0; })) return out;
      if (rest.size() < 2 || rest[0] != kGzipMagic[0] || rest[1] != kGzipMagic[1]) {
        return failure("{} bytes that are not gzip follow the gzip data", rest.size());
      }
      inflateReset(&stream);
    }
  }
}

Result<std::vector<std::uint8_t>> read_file(const std::filesystem::path& path, std::uint64_t limit) {
  std::error_code folder_error;
  if (std::filesystem::is_directory(path, folder_error)) return failure("{}: is a folder, want a file", path.string());
  const std::unique_ptr<std::FILE, FileCloser> file(std::fopen(path.c_str(), "rb"));
  if (!file) return failure("{}: cannot open: {}", path.string(), reason());
  std::vector<std::uint8_t> bytes;
  std::vector<std::uint8_t> chunk(std::size_t{1} << 16);  // most files are small, and many are read
  const auto packed = [&] { return bytes.size() >= 2 && bytes[0] == kGzipMagic[0] && bytes[1] == kGzipMagic[1]; };
  // Data that does not compress is a little longer packed than unpacked.
  const std::uint64_t packed_limit = limit + std::min(limit / 1000 + 1024, ~limit);
  std::error_code no_size;
  if (const std::uintmax_t size = std::filesystem::file_size(path, no_size); !no_size && size <= packed_limit) {
    reserve_huge(bytes, static_cast<std::size_t>(size));
  }
  while (const std::size_t got = std::fread(chunk.data(), 1, chunk.size(), file.get())) {
    bytes.insert(bytes.end(), chunk.begin(), chunk.begin() + static_cast<std::ptrdiff_t>(got));
    if (bytes.size() > (packed() ? packed_limit : limit)) {
      return failure("{}: larger than the limit of {} bytes", path.string(), limit);
    }
  }
  if (std::ferror(file.get())) return failure("{}: cannot read: {}", path.string(), reason());
  if (packed()) {
    auto unpacked = gunzip(bytes, limit);
    if (!unpacked) return std::move(unpacked).error().within(path.string());
    return unpacked;
  }
  return bytes;
}

Status write_output(const std::filesystem::path& path, std::string_view content) {
  std::error_code ignored;
  return std::filesystem::is_other(std::filesystem::status(path, ignored)) ? write_stream(path, content)
                                                                           : write_file(path, content);
}

Status write_file(const std::filesystem::path& path, std::string_view content) {
  return write_file(path, std::span<const std::string_view>(&content, 1));
}

Status write_file(const std::filesystem::path& path, std::span<const std::string_view> parts) {
  MUSTER_ASSIGN(FileWriter writer, FileWriter::create(path));
  for (const std::string_view part : parts) MUSTER_TRY(writer.write(part));
  return writer.finish();
}

Status write_derived_file(const std::filesystem::path& path, std::string_view content) {
  MUSTER_ASSIGN(FileWriter writer, FileWriter::create(path));
  MUSTER_TRY(writer.write(content));
  return writer.finish_unflushed();
}

Result<FileWriter> FileWriter::create(const std::filesystem::path& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) return failure("{}: is a folder, want a file", path.string());
  const int descriptor = ::open(temporary_of(path).c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (descriptor < 0) return cannot("write", path);
  return FileWriter(path, descriptor);
}

FileWriter::FileWriter(FileWriter&& other) noexcept
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}

FileWriter::~FileWriter() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  ::unlink(temporary_of(path_).c_str());
}

Status FileWriter::write(std::string_view content) {
  fail_point(FailPoint::kBeforeWrite, path_);
  if (!write_all(descriptor_, content)) return cannot("write", path_);
  fail_point(FailPoint::kAfterWrite, path_);
  return {};
}

Status FileWriter::finish() {
  fail_point(FailPoint::kBeforeSync, path_);
  if (::fsync(descriptor_) != 0) return cannot("flush", path_);
  fail_point(FailPoint::kAfterSync, path_);
  MUSTER_TRY(put_in_place());
  const std::filesystem::path folder = path_.has_parent_path() ? path_.parent_path() : std::filesystem::path(".");
  if (const int f = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); f >= 0) {
    ::fsync(f);
    ::close(f);
  }
  fail_point(FailPoint::kAfterRename, path_);
  return {};
}

Status FileWriter::finish_unflushed() {
  MUSTER_TRY(put_in_place());
  fail_point(FailPoint::kAfterRename, path_);
  return {};
}

Status FileWriter::put_in_place() {
  const std::string temporary = temporary_of(path_);
  const bool closed = ::close(std::exchange(descriptor_, -1)) == 0;
  fail_point(FailPoint::kBeforeRename, path_);
  if (!closed || ::rename(temporary.c_str(), path_.c_str()) != 0) {
    Error error = cannot(closed ? "rename" : "close", path_);
    ::unlink(temporary.c_str());
    return error;
  }
  return {};
}

Result<FileAppender> FileAppender::open(const std::filesystem::path& path) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (descriptor < 0) return cannot("write", path);
  return FileAppender(path, descriptor);
}

FileAppender::FileAppender(FileAppender&& other) noexcept
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}

FileAppender::~FileAppender() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Status FileAppender::append(std::string_view content) {
  fail_point(FailPoint::kBeforeAppend, path_);
  struct stat before {};
  const bool known = ::fstat(descriptor_, &before) == 0;
  // In one call, unless a test wants to see it torn.
  const std::size_t first = fail_points_armed() ? content.size() / 2 : 0;
  bool written = write_all(descriptor_, content.substr(0, first));
  if (first > 0) fail_point(FailPoint::kHalfAppend, path_);
  written = written && write_all(descriptor_, content.substr(first));
  if (!written) {
    Error error = cannot("write", path_);
    // A line without an end would swallow the next one.
    if (known && ::ftruncate(descriptor_, before.st_size) != 0) error.message += "; what was written stays in part";
    return error;
  }
  fail_point(FailPoint::kAfterAppend, path_);
  return {};
}

Status FileAppender::sync() {
  fail_point(FailPoint::kBeforeSync, path_);
  if (::fsync(descriptor_) != 0) return cannot("flush", path_);
  fail_point(FailPoint::kAfterSync, path_);
  return {};
}

Status make_folder(const std::filesystem::path& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) return failure("{}: cannot create folder: {}", path.string(), error.message());
  if (::access(path.c_str(), W_OK | X_OK) != 0)
    return failure("{}: cannot write to folder: {}", path.string(), reason());
  return {};
}

}  // namespace muster
