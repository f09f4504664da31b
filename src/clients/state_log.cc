#include "clients/state_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <utility>

#include "base/file.h"
#include "base/hash.h"

namespace muster {
namespace {

static_assert(std::endian::native == std::endian::little, "the log is little-endian");

constexpr char kFileMagic[8] = {'M', 'U', 'S', 'T', 'E', 'R', 'S', 'L'};
constexpr std::uint32_t kVersion = 1;
constexpr std::uint32_t kRecordMagic = 0x5453434d;
constexpr std::string_view kPrefix = "states-";
constexpr std::string_view kSuffix = ".log";

struct FileHeader {
  char magic[8];
  std::uint32_t version;
  std::uint32_t number;
};

struct RecordHeader {
  std::uint32_t magic;
  std::uint32_t count;
  std::uint64_t key;
  std::uint64_t checksum;
};
static_assert(sizeof(FileHeader) == 16 && sizeof(RecordHeader) == 24);

RecordHeader header_of(std::uint64_t key, std::span<const float> values) {
  RecordHeader header{kRecordMagic, static_cast<std::uint32_t>(values.size()), key,
                      hash_bytes(values.data(), values.size_bytes())};
  // Over the header too, so that a record cannot pass for one of another client.
  header.checksum = hash_bytes(&header, sizeof header);
  return header;
}

std::uint64_t record_bytes(const LogPlace& place) {
  return sizeof(RecordHeader) + std::uint64_t{place.count} * sizeof(float);
}

bool write_all(int descriptor, const void* data, std::size_t bytes) {
  const char* next = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t n = ::write(descriptor, next, bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    next += n;
    bytes -= static_cast<std::size_t>(n);
  }
  return true;
}

// False with errno 0 at the end of the file.
bool read_all(int descriptor, void* data, std::size_t bytes, std::uint64_t offset) {
  char* next = static_cast<char*>(data);
  while (bytes > 0) {
    const ssize_t n = ::pread(descriptor, next, bytes, static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n == 0) errno = 0;
    if (n <= 0) return false;
    next += n;
    offset += static_cast<std::uint64_t>(n);
    bytes -= static_cast<std::size_t>(n);
  }
  return true;
}

}  // namespace

Descriptor::Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(number_, other.number_);
  return *this;
}

Descriptor::~Descriptor() {
  if (number_ >= 0) ::close(number_);
}

StateLog::StateLog(std::filesystem::path folder, std::uint64_t file_bytes)
    : folder_(std::move(folder)), file_bytes_(file_bytes) {}

std::filesystem::path StateLog::path(std::uint32_t file) const {
  return folder_ / fmt::format("{}{:08}{}", kPrefix, file, kSuffix);
}

std::string StateLog::name(std::uint32_t file) const {
  return path(file).string();
}

void StateLog::list_files() {
  if (std::exchange(listed_, true)) return;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder_, error), end; !error && entry != end; entry.increment(error)) {
    const std::string file = entry->path().filename().string();
    if (file.size() <= kPrefix.size() + kSuffix.size() || !file.starts_with(kPrefix) || !file.ends_with(kSuffix)) {
      continue;
    }
    const char* const last = file.data() + file.size() - kSuffix.size();
    std::uint32_t number = 0;
    const auto parsed = std::from_chars(file.data() + kPrefix.size(), last, number);
    if (parsed.ec != std::errc() || parsed.ptr != last) continue;
    std::error_code size_error;
    const std::uintmax_t bytes = std::filesystem::file_size(entry->path(), size_error);
    files_.try_emplace(number, File{.bytes = size_error ? 0 : bytes});
  }
}

Status StateLog::start_file() {
  MUSTER_TRY(make_folder(folder_));
  list_files();
  const std::uint32_t number = files_.empty() ? 1 : files_.rbegin()->first + 1;
  if (number == 0) return failure("{}: no file number is left", folder_.string());
  Descriptor writer(::open(path(number).c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0644));
  if (!writer.open()) return failure("{}: cannot create: {}", name(number), std::strerror(errno));
  File& file = files_[number] = {.bytes = sizeof(FileHeader), .made_here = true, .synced = false};
  FileHeader header{{}, kVersion, number};
  std::memcpy(header.magic, kFileMagic, sizeof kFileMagic);
  if (!write_all(writer.number(), &header, sizeof header)) {
    file.bytes = 0;
    return failure("{}: cannot write: {}", name(number), std::strerror(errno));
  }
  current_ = number;
  writer_ = std::move(writer);
  return {};
}

void StateLog::close_file() {
  const Descriptor closing = std::move(writer_);
}

Result<LogPlace> StateLog::append(std::uint64_t key, std::span<const float> values) {
  if (values.size() > UINT32_MAX) return failure("a client's state has {} values, want < 2^32", values.size());
  if (!writer_.open()) MUSTER_TRY(start_file());
  File& file = files_.at(current_);
  const LogPlace place{current_, static_cast<std::uint32_t>(values.size()), file.bytes};
  const RecordHeader header = header_of(key, values);
  file.synced = false;
  if (!write_all(writer_.number(), &header, sizeof header) ||
      !write_all(writer_.number(), values.data(), values.size_bytes())) {
    Error error = failure("{}: cannot write: {}", name(current_), std::strerror(errno));
    close_file();
    return error;
  }
  file.bytes += record_bytes(place);
  file.live_bytes += record_bytes(place);
  ++file.live_records;
  if (file.bytes >= file_bytes_) {
    close_file();
    filled_ = true;
  }
  return place;
}

void StateLog::release(const LogPlace& place) {
  File& file = files_.at(place.file);
  file.live_bytes -= record_bytes(place);
  --file.live_records;
}

Result<Descriptor> StateLog::open(std::uint32_t file) const {
  // Without waiting, in case it is a pipe.
  Descriptor descriptor(::open(path(file).c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!descriptor.open()) return failure("{}: cannot open: {}", name(file), std::strerror(errno));
  return descriptor;
}

Status StateLog::read(const Descriptor& from, const std::string& name, std::uint64_t key, const LogPlace& place,
                      std::span<float> out) {
  MUSTER_CHECK(out.size() == place.count, "{} floats for a record of {}", out.size(), place.count);
  RecordHeader stored{};
  if (!read_all(from.number(), &stored, sizeof stored, place.offset) ||
      !read_all(from.number(), out.data(), out.size_bytes(), place.offset + sizeof stored)) {
    if (errno == 0) return failure("{}: ends inside the record at byte {}", name, place.offset);
    return failure("{}: cannot read: {}", name, std::strerror(errno));
  }
  const RecordHeader wanted = header_of(key, out);
  if (std::memcmp(&stored, &wanted, sizeof wanted) != 0) {
    return failure("{}: the record at byte {} is corrupt (checksum {}, want {})", name, place.offset,
                   hex16(stored.checksum), hex16(wanted.checksum));
  }
  return {};
}

Status StateLog::sync() {
  if (!sync_failure_.empty()) return failure("{}", sync_failure_);
  const auto flush = [&](const std::filesystem::path& what, int flags) -> Status {
    const Descriptor descriptor(::open(what.c_str(), flags | O_CLOEXEC));
    if (descriptor.open() && ::fsync(descriptor.number()) == 0) return {};
    sync_failure_ = fmt::format("{}: cannot flush: {}", what.string(), std::strerror(errno));
    return failure("{}", sync_failure_);
  };
  bool wrote = false;
  for (auto& [number, file] : files_) {
    if (file.synced) continue;
    MUSTER_TRY(flush(path(number), O_WRONLY));
    file.synced = true;
    wrote = true;
  }
  if (wrote) MUSTER_TRY(flush(folder_, O_RDONLY | O_DIRECTORY));
  return {};
}

std::vector<std::uint32_t> StateLog::sparse_files() const {
  std::vector<std::uint32_t> sparse;
  for (const auto& [number, file] : files_) {
    const bool appended_to = writer_.open() && number == current_;
    if (!appended_to && file.live_records > 0 && file.live_bytes <= file.bytes / 2) sparse.push_back(number);
  }
  return sparse;
}

bool StateLog::take_filled() {
  return std::exchange(filled_, false);
}

void StateLog::remove_unneeded(const std::set<std::uint32_t>& needed, bool also_older) {
  for (auto entry = files_.begin(); entry != files_.end();) {
    const auto& [number, file] = *entry;
    const bool appended_to = writer_.open() && number == current_;
    // The highest number stays known, so that numbers are never used twice.
    const bool keep = appended_to || file.live_records > 0 || needed.contains(number) ||
                      !(file.made_here || also_older) || std::next(entry) == files_.end();
    if (keep) {
      ++entry;
      continue;
    }
    // A file that cannot be removed only takes up space; the next run tries again.
    ::unlink(path(number).c_str());
    entry = files_.erase(entry);
  }
}

Status StateLog::verify(std::span<const std::pair<std::uint64_t, LogPlace>> index) const {
  Descriptor from;
  std::uint32_t opened = 0;
  std::uint64_t bytes = 0;
  std::vector<float> values;
  for (const auto& [key, place] : index) {
    if (!from.open() || place.file != opened) {
      MUSTER_ASSIGN(from, open(place.file));
      opened = place.file;
      struct stat status {};
      if (::fstat(from.number(), &status) != 0) {
        return failure("{}: cannot read: {}", name(opened), std::strerror(errno));
      }
      if (!S_ISREG(status.st_mode)) return failure("{}: not a file", name(opened));
      bytes = static_cast<std::uint64_t>(status.st_size);
      FileHeader header{};
      if (!read_all(from.number(), &header, sizeof header, 0) ||
          std::memcmp(header.magic, kFileMagic, sizeof kFileMagic) != 0 || header.version != kVersion ||
          header.number != opened) {
        return failure("{}: not a client state log of version {}", name(opened), kVersion);
      }
    }
    if (place.offset > bytes || record_bytes(place) > bytes - place.offset) {
      return failure("{}: has {} bytes, but a client state of {} values is to begin at byte {}", name(opened), bytes,
                     place.count, place.offset);
    }
    values.resize(place.count);
    MUSTER_TRY(read(from, name(opened), key, place, values));
  }
  return {};
}

void StateLog::adopt(std::span<const std::pair<std::uint64_t, LogPlace>> index) {
  close_file();
  list_files();
  for (auto& [number, file] : files_) {
    file.live_bytes = 0;
    file.live_records = 0;
    file.made_here = false;
  }
  for (const auto& [key, place] : index) {
    File& file = files_[place.file];
    file.live_bytes += record_bytes(place);
    ++file.live_records;
  }
}

}  // namespace muster
