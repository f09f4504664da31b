#include "data/readers/npy.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "base/check.h"

namespace muster {
namespace {

struct TypeInfo {
  std::string_view descr;
  NpyArray::Type type;
  std::size_t bytes;
};

// One-byte types have no byte order; NumPy writes '|' for it.
constexpr TypeInfo kTypes[] = {
    {"|b1", NpyArray::Type::kBool, 1}, {"|i1", NpyArray::Type::kI8, 1},  {"|u1", NpyArray::Type::kU8, 1},
    {"<i2", NpyArray::Type::kI16, 2},  {"<u2", NpyArray::Type::kU16, 2}, {"<i4", NpyArray::Type::kI32, 4},
    {"<u4", NpyArray::Type::kU32, 4},  {"<i8", NpyArray::Type::kI64, 8}, {"<u8", NpyArray::Type::kU64, 8},
    {"<f2", NpyArray::Type::kF16, 2},  {"<f4", NpyArray::Type::kF32, 4}, {"<f8", NpyArray::Type::kF64, 8},
};

template <typename T>
T little_endian(const std::uint8_t* in) {
  static_assert(std::endian::native == std::endian::little);
  T value;
  std::memcpy(&value, in, sizeof value);
  return value;
}

double half_to_double(std::uint16_t bits) {
  const int exponent = bits >> 10 & 0x1f;
  const int fraction = bits & 0x3ff;
  double magnitude = 0;
  if (exponent == 0) {
    magnitude = std::ldexp(fraction, -24);
  } else if (exponent == 31) {
    magnitude = fraction == 0 ? HUGE_VAL : std::nan("");
  } else {
    magnitude = std::ldexp(1024 + fraction, exponent - 25);
  }
  return bits & 0x8000 ? -magnitude : magnitude;
}

// The header is a Python dictionary literal of three known keys: read exactly that.
class Header {
 public:
  explicit Header(std::string_view text) : rest_(text) {}
  Status parse();

  std::optional<std::string> descr;
  std::optional<bool> fortran_order;
  std::optional<std::vector<std::uint64_t>> shape;

 private:
  void skip_spaces() {
    while (!rest_.empty() && (rest_[0] == ' ' || rest_[0] == '\n' || rest_[0] == '\t')) rest_.remove_prefix(1);
  }
  bool take(std::string_view token) {
    skip_spaces();
    if (!rest_.starts_with(token)) return false;
    rest_.remove_prefix(token.size());
    return true;
  }
  std::optional<std::string> take_string();
  std::optional<std::vector<std::uint64_t>> take_tuple();

  std::string_view rest_;
};

std::optional<std::string> Header::take_string() {
  skip_spaces();
  if (rest_.empty() || (rest_[0] != '\'' && rest_[0] != '"')) return std::nullopt;
  const std::size_t end = rest_.find(rest_[0], 1);
  if (end == std::string_view::npos) return std::nullopt;
  std::string text(rest_.substr(1, end - 1));
  rest_.remove_prefix(end + 1);
  return text;
}

std::optional<std::vector<std::uint64_t>> Header::take_tuple() {
  if (!take("(")) return std::nullopt;
  std::vector<std::uint64_t> numbers;
  while (!take(")")) {
    skip_spaces();
    std::uint64_t number = 0;
    std::size_t digits = 0;
    for (; !rest_.empty() && rest_[0] >= '0' && rest_[0] <= '9'; rest_.remove_prefix(1)) {
      if (++digits > 18) return std::nullopt;
      number = number * 10 + static_cast<std::uint64_t>(rest_[0] - '0');
    }
    if (digits == 0) return std::nullopt;
    numbers.push_back(number);
    if (!take(",")) {
      if (!take(")")) return std::nullopt;
      break;
    }
  }
  return numbers;
}

Status Header::parse() {
  const auto broken = [] { return failure("broken .npy header, want {{'descr', 'fortran_order', 'shape'}}"); };
  if (!take("{")) return broken();
  while (!take("}")) {
    const std::optional<std::string> key = take_string();
    if (!key || !take(":")) return broken();
    if (*key == "descr") {
      descr = take_string();
      if (!descr) return failure("structured dtypes are not supported, want plain numbers");
    } else if (*key == "fortran_order") {
      if (take("True")) {
        fortran_order = true;
      } else if (take("False")) {
        fortran_order = false;
      } else {
        return broken();
      }
    } else if (*key == "shape") {
      shape = take_tuple();
      if (!shape) return broken();
    } else {
      return broken();
    }
    if (!take(",")) {
      if (!take("}")) return broken();
      break;
    }
  }
  if (!descr || !fortran_order || !shape) return broken();
  return {};
}

}  // namespace

double NpyArray::at(std::size_t index) const {
  const std::uint8_t* in = payload.data();
  switch (type) {
    case Type::kBool:
      return in[index] != 0 ? 1 : 0;
    case Type::kI8:
      return static_cast<std::int8_t>(in[index]);
    case Type::kU8:
      return in[index];
    case Type::kI16:
      return little_endian<std::int16_t>(in + 2 * index);
    case Type::kU16:
      return little_endian<std::uint16_t>(in + 2 * index);
    case Type::kI32:
      return little_endian<std::int32_t>(in + 4 * index);
    case Type::kU32:
      return little_endian<std::uint32_t>(in + 4 * index);
    case Type::kI64:
      return static_cast<double>(little_endian<std::int64_t>(in + 8 * index));
    case Type::kU64:
      return static_cast<double>(little_endian<std::uint64_t>(in + 8 * index));
    case Type::kF16:
      return half_to_double(little_endian<std::uint16_t>(in + 2 * index));
    case Type::kF32:
      return static_cast<double>(little_endian<float>(in + 4 * index));
    case Type::kF64:
      return little_endian<double>(in + 8 * index);
  }
  return 0;
}

Result<NpyArray> parse_npy(std::span<const std::uint8_t> bytes) {
  constexpr std::string_view kMagic = "\x93NUMPY";
  if (bytes.size() < 10 || std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) != 0) {
    return failure("not an .npy array: wrong magic");
  }
  const std::uint8_t version = bytes[6];
  if (version < 1 || version > 3) return failure(".npy version {}, want 1 to 3", version);
  const std::size_t prefix = version == 1 ? 10 : 12;
  if (bytes.size() < prefix) return failure("truncated .npy header");
  const std::size_t length =
      version == 1 ? little_endian<std::uint16_t>(bytes.data() + 8) : little_endian<std::uint32_t>(bytes.data() + 8);
  if (length > bytes.size() - prefix)
    return failure("truncated .npy header: {} bytes, want {}", bytes.size() - prefix, length);

  Header header({reinterpret_cast<const char*>(bytes.data()) + prefix, length});
  MUSTER_TRY(header.parse());
  const TypeInfo* info = nullptr;
  for (const TypeInfo& candidate : kTypes) {
    if (candidate.descr == *header.descr || (candidate.bytes == 1 && header.descr->size() == 3 &&
                                             candidate.descr.substr(1) == std::string_view(*header.descr).substr(1))) {
      info = &candidate;
    }
  }
  if (info == nullptr) {
    return failure("dtype '{}' is not supported, want b1, u1, i1 or little-endian u2 u4 u8 i2 i4 i8 f2 f4 f8",
                   header.descr->substr(0, 40));
  }
  if (*header.fortran_order) {
    return failure("fortran_order is True: the array is stored by columns; save numpy.ascontiguousarray(array)");
  }
  NpyArray array;
  array.type = info->type;
  array.dims = *header.shape;
  array.payload = bytes.subspan(prefix + length);
  // Compared with what is there before each product, so nothing overflows and no claim is believed.
  std::uint64_t count = 1;
  const std::uint64_t have = array.payload.size() / info->bytes;
  for (const std::uint64_t size : array.dims) {
    if (size != 0 && count > have / size) {
      return failure("truncated .npy: {} bytes of data for ({}) of {} bytes each", array.payload.size(),
                     fmt::join(array.dims, ", "), info->bytes);
    }
    count *= size;
  }
  if (array.dims.empty() && have < 1) return failure("truncated .npy: no data for a single number");
  if (array.payload.size() != count * info->bytes) {
    return failure("{} trailing bytes after ({}) of {} bytes each", array.payload.size() - count * info->bytes,
                   fmt::join(array.dims, ", "), info->bytes);
  }
  array.count = count;
  return array;
}

}  // namespace muster
