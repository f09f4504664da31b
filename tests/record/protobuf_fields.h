// Reads what ProtobufMessage wrote, by the description of the format, so that it shares no mistake with the writer.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

struct ProtobufField {
  std::uint64_t number = 0;
  std::uint64_t integer = 0;  // of a varint
  std::string bytes;          // of all else
};

inline std::uint64_t take_varint(std::string_view& wire) {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    EXPECT_FALSE(wire.empty());
    if (wire.empty()) break;
    const auto byte = static_cast<std::uint8_t>(wire.front());
    wire.remove_prefix(1);
    value |= std::uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) break;
  }
  return value;
}

inline std::vector<ProtobufField> protobuf_fields(std::string_view wire) {
  std::vector<ProtobufField> fields;
  while (!wire.empty()) {
    const std::uint64_t tag = take_varint(wire);
    ProtobufField field{.number = tag >> 3};
    std::size_t size = 0;
    switch (tag & 7) {
      case 0:
        field.integer = take_varint(wire);
        break;
      case 1:
        size = 8;
        break;
      case 2:
        size = take_varint(wire);
        break;
      case 5:
        size = 4;
        break;
      default:
        ADD_FAILURE() << "wire type " << (tag & 7);
        return fields;
    }
    EXPECT_LE(size, wire.size());
    field.bytes = wire.substr(0, size);
    wire.remove_prefix(field.bytes.size());
    fields.push_back(std::move(field));
  }
  return fields;
}

// The messages, strings or bytes of a repeated field.
inline std::vector<std::string> protobuf_all(std::string_view wire, std::uint64_t number) {
  std::vector<std::string> all;
  for (ProtobufField& field : protobuf_fields(wire)) {
    if (field.number == number) all.push_back(std::move(field.bytes));
  }
  return all;
}

// The numbers of a repeated field.
inline std::vector<std::int64_t> protobuf_integers(std::string_view wire, std::uint64_t number) {
  std::vector<std::int64_t> all;
  for (const ProtobufField& field : protobuf_fields(wire)) {
    if (field.number == number) all.push_back(static_cast<std::int64_t>(field.integer));
  }
  return all;
}

}  // namespace muster
