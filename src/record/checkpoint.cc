#include "record/checkpoint.h"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <utility>

#include "base/file.h"
#include "base/hash.h"

namespace muster {
namespace {

static_assert(std::endian::native == std::endian::little, "checkpoints are little-endian");

// File: header, then for each section its name, content size and content hash, then a hash of all that, then the
// contents in the same order.
constexpr char kMagic[8] = {'M', 'U', 'S', 'T', 'E', 'R', 'C', 'K'};
constexpr std::uint32_t kVersion = 1;
constexpr std::uint32_t kMaxSections = 1u << 20;
constexpr std::uint32_t kMaxNameBytes = 1024;
constexpr std::string_view kPrefix = "round-";
constexpr std::string_view kSuffix = ".checkpoint";

struct Header {
  char magic[8];
  std::uint32_t version;
  std::uint32_t round;
  std::uint64_t file_bytes;  // tells a torn file from a corrupt one
  std::uint32_t sections;
  std::uint32_t reserved;
};

struct SectionEntry {
  std::uint64_t bytes;
  std::uint64_t hash;
};
static_assert(sizeof(Header) == 32 && sizeof(SectionEntry) == 16);

// The bytes of a checkpoint in order, from a file or from memory. `take` fills `out` with exactly `bytes` bytes.
struct Source {
  std::uint64_t total = 0;
  std::function<bool(void* out, std::size_t bytes)> take;
};

template <typename T>
void append_value(std::string& out, const T& value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

Result<Checkpoint> read_from(const Source& source) {
  const Error torn = failure("truncated: {} bytes are not a whole checkpoint", source.total);
  std::uint64_t left = source.total;
  Hasher hasher;
  const auto take = [&](void* out, std::size_t bytes) {
    if (bytes > left || !source.take(out, bytes)) return false;
    left -= bytes;
    return true;
  };
  const auto take_hashed = [&](void* out, std::size_t bytes) {
    if (!take(out, bytes)) return false;
    hasher.add(out, bytes);
    return true;
  };

  Header header{};
  if (!take_hashed(&header, sizeof header)) return torn;
  if (std::memcmp(header.magic, kMagic, sizeof kMagic) != 0) return failure("not a checkpoint");
  if (header.version != kVersion) return failure("checkpoint of version {}, want {}", header.version, kVersion);
  if (header.file_bytes > source.total) return failure("truncated: {} of {} bytes", source.total, header.file_bytes);
  if (header.sections > kMaxSections) return failure("corrupt: {} sections, want <= {}", header.sections, kMaxSections);

  std::vector<std::pair<std::string, SectionEntry>> table;
  for (std::uint32_t i = 0; i < header.sections; ++i) {
    std::uint32_t name_bytes = 0;
    if (!take_hashed(&name_bytes, sizeof name_bytes)) return torn;
    if (name_bytes > kMaxNameBytes) {
      return failure("corrupt: a section name of {} bytes, want <= {}", name_bytes, kMaxNameBytes);
    }
    auto& [name, entry] = table.emplace_back(std::string(name_bytes, '\0'), SectionEntry{});
    if (!take_hashed(name.data(), name_bytes) || !take_hashed(&entry, sizeof entry)) return torn;
  }
  std::uint64_t table_hash = 0;
  if (!take(&table_hash, sizeof table_hash)) return torn;
  if (table_hash != hasher.digest()) return failure("corrupt: the table of sections does not match its checksum");

  std::uint64_t wanted = 0;
  for (const auto& [name, entry] : table) {
    if (entry.bytes > left - wanted) return failure("truncated: section '{}' wants {} bytes", name, entry.bytes);
    wanted += entry.bytes;
  }
  if (wanted != left) return failure("corrupt: {} bytes after the last section", left - wanted);

  Checkpoint checkpoint;
  checkpoint.round = header.round;
  for (auto& [name, entry] : table) {
    std::string content(entry.bytes, '\0');
    if (!take(content.data(), content.size())) return torn;
    if (hash_bytes(content.data(), content.size()) != entry.hash) {
      return failure("corrupt: section '{}' does not match its checksum", name);
    }
    if (!checkpoint.sections.try_emplace(name, std::move(content)).second) {
      return failure("corrupt: section '{}' appears twice", name);
    }
  }
  return checkpoint;
}

struct Found {
  std::uint32_t round;
  std::filesystem::path path;
};

// Newest first.
std::vector<Found> find_checkpoints(const std::filesystem::path& folder) {
  std::vector<Found> found;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const std::string file = entry->path().filename().string();
    if (file.size() <= kPrefix.size() + kSuffix.size() || !file.starts_with(kPrefix) || !file.ends_with(kSuffix)) {
      continue;
    }
    const char* const last = file.data() + file.size() - kSuffix.size();
    std::uint32_t round = 0;
    const auto parsed = std::from_chars(file.data() + kPrefix.size(), last, round);
    if (parsed.ec != std::errc() || parsed.ptr != last) continue;
    // Opening a pipe would wait for whoever writes to it.
    std::error_code unknown;
    if (entry->is_regular_file(unknown)) found.push_back({round, entry->path()});
  }
  std::sort(found.begin(), found.end(), [](const Found& a, const Found& b) { return a.round > b.round; });
  return found;
}

template <typename T>
Result<std::vector<T>> values_of(const std::string& name, const std::string& content) {
  if (content.size() % sizeof(T) != 0) {
    return failure("checkpoint: section '{}' has {} bytes, want a multiple of {}", name, content.size(), sizeof(T));
  }
  std::vector<T> values(content.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), content.data(), content.size());
  return values;
}

}  // namespace

void Checkpoint::put_string(std::string name, std::string value) {
  sections[std::move(name)] = std::move(value);
}

void Checkpoint::put_uint64(std::string name, std::uint64_t value) {
  sections[std::move(name)].assign(reinterpret_cast<const char*>(&value), sizeof value);
}

void Checkpoint::put_floats(std::string name, std::span<const float> values) {
  sections[std::move(name)].assign(reinterpret_cast<const char*>(values.data()), values.size_bytes());
}

void Checkpoint::put_doubles(std::string name, std::span<const double> values) {
  sections[std::move(name)].assign(reinterpret_cast<const char*>(values.data()), values.size_bytes());
}

Result<std::string> Checkpoint::get_string(const std::string& name) const {
  const auto found = sections.find(name);
  if (found == sections.end()) return failure("checkpoint: section '{}' is missing", name);
  return found->second;
}

Result<std::uint64_t> Checkpoint::get_uint64(const std::string& name) const {
  const auto found = sections.find(name);
  if (found == sections.end()) return failure("checkpoint: section '{}' is missing", name);
  std::uint64_t value = 0;
  if (found->second.size() != sizeof value) {
    return failure("checkpoint: section '{}' has {} bytes, want {}", name, found->second.size(), sizeof value);
  }
  std::memcpy(&value, found->second.data(), sizeof value);
  return value;
}

Result<std::vector<float>> Checkpoint::get_floats(const std::string& name) const {
  const auto found = sections.find(name);
  if (found == sections.end()) return failure("checkpoint: section '{}' is missing", name);
  return values_of<float>(name, found->second);
}

Result<std::vector<double>> Checkpoint::get_doubles(const std::string& name) const {
  const auto found = sections.find(name);
  if (found == sections.end()) return failure("checkpoint: section '{}' is missing", name);
  return values_of<double>(name, found->second);
}

Status write_checkpoint(const std::filesystem::path& folder, const Checkpoint& checkpoint) {
  MUSTER_CHECK(checkpoint.sections.size() <= kMaxSections, "{} sections, want <= {}", checkpoint.sections.size(),
               kMaxSections);
  std::string head;
  Header header{{}, kVersion, checkpoint.round, 0, static_cast<std::uint32_t>(checkpoint.sections.size()), 0};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  append_value(head, header);
  std::uint64_t content_bytes = 0;
  for (const auto& [name, content] : checkpoint.sections) {
    MUSTER_CHECK(name.size() <= kMaxNameBytes, "section name of {} bytes, want <= {}", name.size(), kMaxNameBytes);
    append_value(head, static_cast<std::uint32_t>(name.size()));
    head += name;
    append_value(head, SectionEntry{content.size(), hash_bytes(content.data(), content.size())});
    content_bytes += content.size();
  }
  header.file_bytes = head.size() + sizeof(std::uint64_t) + content_bytes;
  std::memcpy(head.data(), &header, sizeof header);
  append_value(head, hash_bytes(head.data(), head.size()));

  std::vector<std::string_view> parts{head};
  for (const auto& [name, content] : checkpoint.sections) parts.push_back(content);
  MUSTER_TRY(make_folder(folder));
  MUSTER_TRY(write_file(folder / fmt::format("{}{:010}{}", kPrefix, checkpoint.round, kSuffix), parts));

  bool previous_kept = false;
  for (const Found& found : find_checkpoints(folder)) {
    if (found.round == checkpoint.round) continue;
    if (found.round < checkpoint.round && !std::exchange(previous_kept, true)) continue;
    // One that cannot be removed only takes up space; the next write tries again.
    ::unlink(found.path.c_str());
  }
  return {};
}

Result<Checkpoint> parse_checkpoint(std::span<const std::uint8_t> bytes) {
  std::size_t next = 0;
  return read_from({bytes.size(), [&](void* out, std::size_t count) {
                      if (count > bytes.size() - next) return false;
                      if (count > 0) std::memcpy(out, bytes.data() + next, count);
                      next += count;
                      return true;
                    }});
}

Result<Checkpoint> read_checkpoint(const std::filesystem::path& path) {
  const auto close = [](std::FILE* opened) { std::fclose(opened); };
  const std::unique_ptr<std::FILE, decltype(close)> file(std::fopen(path.c_str(), "rb"), close);
  std::error_code error;
  const std::uintmax_t total = std::filesystem::file_size(path, error);
  if (!file) return failure("{}: cannot open: {}", path.string(), std::strerror(errno));
  if (error) return failure("{}: cannot read: {}", path.string(), error.message());
  auto checkpoint =
      read_from({total, [&](void* out, std::size_t bytes) { return std::fread(out, 1, bytes, file.get()) == bytes; }});
  if (!checkpoint) return std::move(checkpoint).error().within(path.string());
  return checkpoint;
}

std::vector<std::filesystem::path> list_checkpoints(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> paths;
  for (Found& found : find_checkpoints(folder)) paths.push_back(std::move(found.path));
  return paths;
}

}  // namespace muster
