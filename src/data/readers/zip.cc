#include "data/readers/zip.h"

#include <zlib.h>

#include <algorithm>
#include <memory>

namespace muster {
namespace {

constexpr std::uint32_t kLocalSignature = 0x04034b50;
constexpr std::uint32_t kCentralSignature = 0x02014b50;
constexpr std::uint32_t kEndSignature = 0x06054b50;
constexpr std::size_t kLocalBytes = 30;
constexpr std::size_t kCentralBytes = 46;
constexpr std::size_t kEndBytes = 22;
constexpr std::size_t kLongestComment = 65535;
constexpr std::uint64_t kDeflateMost = 1032;  // output bytes per input byte that deflate can reach
constexpr std::uint32_t kZip64Mark = 0xffffffff;

std::uint32_t u16(const std::uint8_t* in) {
  return std::uint32_t{in[0]} | std::uint32_t{in[1]} << 8;
}
std::uint32_t u32(const std::uint8_t* in) {
  return u16(in) | u16(in + 2) << 16;
}

// What the central directory says of one member.
struct Entry {
  std::string name;
  std::uint32_t method = 0;
  std::uint32_t crc = 0;
  std::uint32_t packed = 0;
  std::uint32_t size = 0;
  std::uint32_t offset = 0;
};

Result<std::vector<std::uint8_t>> inflate_raw(std::span<const std::uint8_t> packed, std::size_t size) {
  z_stream stream{};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) return failure("cannot start decompression");
  const auto end = [](z_stream* s) { inflateEnd(s); };
  const std::unique_ptr<z_stream, decltype(end)> guard(&stream, end);
  std::vector<std::uint8_t> out(size);
  std::uint8_t nothing = 0;
  stream.next_in = const_cast<Bytef*>(packed.data());
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = size > 0 ? out.data() : &nothing;
  stream.avail_out = static_cast<uInt>(size);
  if (inflate(&stream, Z_FINISH) != Z_STREAM_END || stream.avail_out != 0) {
    return failure("broken deflate data, or not the {} bytes the directory says", size);
  }
  return out;
}

Result<std::vector<Entry>> parse_directory(std::span<const std::uint8_t> bytes) {
  if (bytes.size() < kEndBytes) return failure("not a zip archive: {} bytes", bytes.size());
  std::size_t end = bytes.size() - kEndBytes;
  const std::size_t lowest = end > kLongestComment ? end - kLongestComment : 0;
  while (u32(bytes.data() + end) != kEndSignature) {
    if (end == lowest) return failure("not a zip archive, or truncated: no end record");
    --end;
  }
  const std::uint8_t* record = bytes.data() + end;
  const std::uint32_t count = u16(record + 10);
  const std::uint32_t size = u32(record + 12);
  const std::uint32_t offset = u32(record + 16);
  if (offset == kZip64Mark || size == kZip64Mark) return failure("zip64 archives (over 4 GB) are not supported");
  if (std::uint64_t{offset} + size > end) return failure("the zip directory lies outside the file");
  std::span<const std::uint8_t> directory = bytes.subspan(offset, size);
  std::vector<Entry> entries;
  for (std::uint32_t i = 0; i < count; ++i) {
    if (directory.size() < kCentralBytes || u32(directory.data()) != kCentralSignature) {
      return failure("broken zip directory at entry {} of {}", i, count);
    }
    const std::uint8_t* in = directory.data();
    const std::size_t name = u16(in + 28);
    const std::size_t whole = kCentralBytes + name + u16(in + 30) + u16(in + 32);
    if (directory.size() < whole) return failure("broken zip directory at entry {} of {}", i, count);
    Entry entry;
    entry.name.assign(reinterpret_cast<const char*>(in) + kCentralBytes, name);
    entry.method = u16(in + 10);
    entry.crc = u32(in + 16);
    entry.packed = u32(in + 20);
    entry.size = u32(in + 24);
    entry.offset = u32(in + 42);
    if ((u16(in + 8) & 1) != 0) return failure("'{}' is encrypted", entry.name);
    if (entry.packed == kZip64Mark || entry.size == kZip64Mark || entry.offset == kZip64Mark) {
      return failure("'{}': zip64 members (over 4 GB) are not supported", entry.name);
    }
    entries.push_back(std::move(entry));
    directory = directory.subspan(whole);
  }
  return entries;
}

Result<std::vector<std::uint8_t>> unpack(std::span<const std::uint8_t> bytes, const Entry& entry) {
  if (std::uint64_t{entry.offset} + kLocalBytes > bytes.size() || u32(bytes.data() + entry.offset) != kLocalSignature) {
    return failure("no member where the directory says");
  }
  const std::uint8_t* local = bytes.data() + entry.offset;
  const std::uint64_t data = std::uint64_t{entry.offset} + kLocalBytes + u16(local + 26) + u16(local + 28);
  if (data + entry.packed > bytes.size()) return failure("truncated");
  const std::span<const std::uint8_t> packed = bytes.subspan(data, entry.packed);
  std::vector<std::uint8_t> out;
  if (entry.method == 0) {
    if (entry.packed != entry.size)
      return failure("stored, but {} bytes packed and {} unpacked", entry.packed, entry.size);
    out.assign(packed.begin(), packed.end());
  } else if (entry.method == 8) {
    if (entry.size > entry.packed * kDeflateMost) {
      return failure("{} bytes cannot unpack to {}", entry.packed, entry.size);
    }
    MUSTER_ASSIGN(out, inflate_raw(packed, entry.size));
  } else {
    return failure("compression method {} is not supported, want stored or deflated", entry.method);
  }
  const uLong crc = crc32(0, out.data(), static_cast<uInt>(out.size()));
  if (!out.empty() && crc != entry.crc) return failure("checksum {:08x}, want {:08x}", crc, entry.crc);
  return out;
}

}  // namespace

Result<std::vector<ZipMember>> unzip(std::span<const std::uint8_t> bytes, std::uint64_t limit) {
  MUSTER_ASSIGN(const std::vector<Entry> entries, parse_directory(bytes));
  std::uint64_t packed = 0;
  std::uint64_t size = 0;
  for (const Entry& entry : entries) {
    packed += entry.packed;
    size += entry.size;
  }
  // Members that share their bytes are how small archives unpack to enormous ones.
  if (packed > bytes.size()) return failure("the members of the archive overlap");
  if (size > limit) return failure("unpacks to {} bytes, the limit is {}", size, limit);
  std::vector<ZipMember> members;
  for (const Entry& entry : entries) {
    auto content = unpack(bytes, entry);
    if (!content) return std::move(content).error().within(fmt::format("'{}'", entry.name));
    members.push_back({entry.name, std::move(*content)});
  }
  return members;
}

}  // namespace muster
