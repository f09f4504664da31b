// ProtobufMessage: a protocol buffer in its wire format, written field by field. Knows no schema: the caller gives the
// numbers of the fields, and the order in which they are written. Enough for event files and ONNX; reads nothing.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

namespace muster {

class ProtobufMessage {
 public:
  // int32, int64, bool and enumerations. A negative number takes ten bytes, as the format has it.
  void integer(std::uint32_t field, std::int64_t value) {
    tag(field, Wire::kVarint);
    varint(static_cast<std::uint64_t>(value));
  }
  void float32(std::uint32_t field, float value) {
    tag(field, Wire::kFixed32);
    fixed(value);
  }
  void float64(std::uint32_t field, double value) {
    tag(field, Wire::kFixed64);
    fixed(value);
  }
  // Strings and bytes.
  void bytes(std::uint32_t field, std::string_view value) {
    tag(field, Wire::kBytes);
    varint(value.size());
    wire_ += value;
  }
  void message(std::uint32_t field, const ProtobufMessage& value) { bytes(field, value.wire_); }

  [[nodiscard]] const std::string& wire() const { return wire_; }

 private:
  static_assert(std::endian::native == std::endian::little, "the format holds little-endian numbers");
  enum class Wire : std::uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

  void tag(std::uint32_t field, Wire wire) { varint(std::uint64_t{field} << 3 | static_cast<std::uint64_t>(wire)); }
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) wire_ += static_cast<char>(value | 0x80);
    wire_ += static_cast<char>(value);
  }
  template <typename T>
  void fixed(T value) {
    wire_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }

  std::string wire_;
};

}  // namespace muster
