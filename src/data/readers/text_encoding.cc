#include "data/readers/text_encoding.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/file.h"
#include "data/shown_text.h"

namespace muster {
namespace {

constexpr std::uint64_t kLimit = std::uint64_t{16} << 30;

// Code points of the bytes 0x80 to 0x9f of Windows-1252; the five that have none are control characters.
constexpr std::array<std::uint16_t, 32> kWindows1252 = {0x20ac, 0x81,   0x201a, 0x0192, 0x201e, 0x2026, 0x2020, 0x2021,
                                                        0x02c6, 0x2030, 0x0160, 0x2039, 0x0152, 0x8d,   0x017d, 0x8f,
                                                        0x90,   0x2018, 0x2019, 0x201c, 0x201d, 0x2022, 0x2013, 0x2014,
                                                        0x02dc, 0x2122, 0x0161, 0x203a, 0x0153, 0x9d,   0x017e, 0x0178};

char* put_utf8(std::uint32_t code, char* out) {
  if (code < 0x80) {
    *out++ = static_cast<char>(code);
  } else if (code < 0x800) {
    *out++ = static_cast<char>(0xc0 | (code >> 6));
    *out++ = static_cast<char>(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    *out++ = static_cast<char>(0xe0 | (code >> 12));
    *out++ = static_cast<char>(0x80 | ((code >> 6) & 0x3f));
    *out++ = static_cast<char>(0x80 | (code & 0x3f));
  } else {
    *out++ = static_cast<char>(0xf0 | (code >> 18));
    *out++ = static_cast<char>(0x80 | ((code >> 12) & 0x3f));
    *out++ = static_cast<char>(0x80 | ((code >> 6) & 0x3f));
    *out++ = static_cast<char>(0x80 | (code & 0x3f));
  }
  return out;
}

// Where the first byte is that is not UTF-8; the size if there is none. Eight bytes of ASCII at a step.
std::size_t find_not_utf8(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    std::uint64_t eight = 0;
    while (text.size() - at >= sizeof eight) {
      std::memcpy(&eight, text.data() + at, sizeof eight);
      if ((eight & 0x8080808080808080u) != 0) break;
      at += sizeof eight;
    }
    const std::size_t stop = std::min(text.size(), at + sizeof eight);
    while (at < stop) {
      const std::size_t size = utf8_character(text.substr(at, 4));
      if (size == 0) return at;
      at += size;
    }
  }
  return at;
}

// Half a pair becomes U+FFFD.
Result<TextBuffer> from_utf16(std::string_view bytes, bool big_endian) {
  if (bytes.size() % 2 != 0) return failure("UTF-16 text with an odd number of bytes");
  const auto unit = [&](std::size_t i) -> std::uint32_t {
    const auto first = static_cast<std::uint8_t>(bytes[i]);
    const auto second = static_cast<std::uint8_t>(bytes[i + 1]);
    return big_endian ? first * 256u + second : second * 256u + first;
  };
  TextBuffer buffer(bytes.size() / 2 * 3);
  char* out = buffer.data();
  for (std::size_t i = 2; i < bytes.size(); i += 2) {
    std::uint32_t code = unit(i);
    if (code >= 0xd800 && code < 0xe000) {
      const std::uint32_t low = i + 2 < bytes.size() ? unit(i + 2) : 0;
      if (code < 0xdc00 && low >= 0xdc00 && low < 0xe000) {
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
        i += 2;
      } else {
        code = 0xfffd;
      }
    }
    out = put_utf8(code, out);
  }
  buffer.finish(static_cast<std::size_t>(out - buffer.data()));
  return buffer;
}

TextBuffer from_windows1252(std::string_view bytes) {
  const auto high = static_cast<std::size_t>(
      std::ranges::count_if(bytes, [](char c) { return static_cast<std::uint8_t>(c) >= 0x80; }));
  TextBuffer buffer(bytes.size() + 2 * high);
  char* out = buffer.data();
  for (const char c : bytes) {
    const auto byte = static_cast<std::uint8_t>(c);
    out = put_utf8(byte >= 0x80 && byte < 0xa0 ? kWindows1252[byte - 0x80u] : byte, out);
  }
  buffer.finish(static_cast<std::size_t>(out - buffer.data()));
  return buffer;
}

// Old Macintosh files end their lines in CR alone.
void end_lines_in_lf(TextBuffer& buffer) {
  const std::string_view text = buffer.text();
  if (text.empty() || std::memchr(text.data(), '\n', text.size() - 1) != nullptr) return;
  char* const first = buffer.data() + (text.data() - buffer.data());
  char* const last = first + text.size() - 1;
  std::replace(first, last > first && last[-1] == '\r' ? last - 1 : last, '\r', '\n');
}

// `size` bytes of the buffer are the file.
Result<DecodedText> decode(TextBuffer buffer, std::size_t size) {
  const std::string_view bytes(buffer.data(), size);
  if (bytes.starts_with("\xff\xfe") || bytes.starts_with("\xfe\xff")) {
    if (bytes.starts_with(std::string_view("\xff\xfe\0\0", 4))) return failure("UTF-32 text; save it as UTF-8");
    MUSTER_ASSIGN(TextBuffer converted, from_utf16(bytes, bytes.starts_with("\xfe\xff")));
    end_lines_in_lf(converted);
    return DecodedText{.buffer = std::move(converted), .encoding = TextEncoding::kUtf16, .notes = {}};
  }
  if (bytes.substr(0, 1024).find('\0') != std::string_view::npos) {
    return failure("bytes of value 0: is this UTF-16 without a byte order mark, or no text at all? Save it as UTF-8");
  }
  const std::size_t wrong = find_not_utf8(bytes);
  if (wrong == bytes.size()) {
    buffer.finish(size, bytes.starts_with("\xef\xbb\xbf") ? 3 : 0);
    end_lines_in_lf(buffer);
    return DecodedText{.buffer = std::move(buffer), .encoding = TextEncoding::kUtf8, .notes = {}};
  }
  const auto line = 1 + std::count(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(wrong), '\n');
  DecodedText decoded{
      .buffer = from_windows1252(bytes),
      .encoding = TextEncoding::kLatin1,
      .notes = {fmt::format("the file is not UTF-8 (first in line {}); it is read as Windows-1252 (Latin-1)", line)}};
  end_lines_in_lf(decoded.buffer);
  return decoded;
}

TextBuffer copied(std::string_view bytes) {
  TextBuffer buffer(bytes.size());
  if (!bytes.empty()) std::memcpy(buffer.data(), bytes.data(), bytes.size());
  return buffer;
}

class Descriptor {
 public:
  explicit Descriptor(const std::filesystem::path& path) : value_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~Descriptor() {
    if (value_ >= 0) ::close(value_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int value() const { return value_; }

 private:
  int value_;
};

// The bytes of a regular file that is not packed, read once into memory that is not cleared first; nullopt for all
// else, which read_file() knows how to read or refuse.
std::optional<std::pair<TextBuffer, std::size_t>> read_plain(const std::filesystem::path& path) {
  const Descriptor file(path);
  struct stat status {};
  if (file.value() < 0 || ::fstat(file.value(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  if (status.st_size <= 0 || static_cast<std::uint64_t>(status.st_size) > kLimit) return std::nullopt;
  TextBuffer buffer(static_cast<std::size_t>(status.st_size));
  std::size_t size = 0;
  while (size < buffer.capacity()) {
    const std::size_t piece = std::min(buffer.capacity() - size, std::size_t{1} << 28);
    const ssize_t got = ::read(file.value(), buffer.data() + size, piece);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::nullopt;
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  if (std::string_view(buffer.data(), size).starts_with("\x1f\x8b")) return std::nullopt;
  return std::pair(std::move(buffer), size);
}

}  // namespace

void TextBuffer::finish(std::size_t size, std::size_t skipped) {
  MUSTER_CHECK(skipped <= size && size <= capacity_, "{} of {} bytes, without {}", size, capacity_, skipped);
  begin_ = skipped;
  end_ = size;
  if (end_ > begin_ && bytes_[end_ - 1] != '\n') bytes_[end_++] = '\n';
  std::memset(bytes_.get() + end_, 0, kPadding);
}

Result<DecodedText> decode_text(std::string_view bytes) {
  return decode(copied(bytes), bytes.size());
}

Result<DecodedText> read_text(const std::filesystem::path& path) {
  const auto decode_file = [&]() -> Result<DecodedText> {
    if (auto plain = read_plain(path)) return decode(std::move(plain->first), plain->second);
    MUSTER_ASSIGN(const std::vector<std::uint8_t> bytes, read_file(path, kLimit));
    return decode_text({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  };
  auto decoded = decode_file();
  if (!decoded && decoded.error().message.find(path.string()) == std::string::npos) {
    return std::move(decoded).error().within(path.string());
  }
  return decoded;
}

}  // namespace muster
