#include "record/protobuf_message.h"

#include <cstring>

#include "record/protobuf_fields.h"

namespace muster {
namespace {

std::string hex(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) text += fmt::format("{:02x}", static_cast<std::uint8_t>(byte));
  return text;
}

// The first three are the examples of the format's own description.
TEST(ProtobufMessage, WritesKnownBytes) {
  ProtobufMessage integer;
  integer.integer(1, 150);
  EXPECT_EQ(hex(integer.wire()), "089601");
  ProtobufMessage text;
  text.bytes(2, "testing");
  EXPECT_EQ(hex(text.wire()), "120774657374696e67");
  ProtobufMessage outer;
  outer.message(3, integer);
  EXPECT_EQ(hex(outer.wire()), "1a03089601");
  ProtobufMessage negative;
  negative.integer(1, -1);
  EXPECT_EQ(hex(negative.wire()), "08ffffffffffffffffff01");
  ProtobufMessage reals;
  reals.float32(1, 1.0f);
  reals.float64(2, -2.0);
  EXPECT_EQ(hex(reals.wire()), "0d0000803f1100000000000000c0");
  ProtobufMessage late;
  late.integer(20, 7);  // from field 16 on the tag has two bytes
  EXPECT_EQ(hex(late.wire()), "a00107");
}

TEST(ProtobufMessage, IntegersComeBack) {
  for (const std::int64_t value :
       {std::int64_t{0}, std::int64_t{1}, std::int64_t{127}, std::int64_t{128}, std::int64_t{16383},
        std::int64_t{16384}, std::int64_t{1} << 35, std::numeric_limits<std::int64_t>::max(),
        std::numeric_limits<std::int64_t>::min(), std::int64_t{-1}}) {
    ProtobufMessage message;
    message.integer(9, value);
    EXPECT_EQ(protobuf_integers(message.wire(), 9), std::vector{value});
  }
}

TEST(ProtobufMessage, LengthsOfAllSizesComeBack) {
  for (const std::size_t size : {0u, 1u, 127u, 128u, 16383u, 16384u, 70000u}) {
    ProtobufMessage message;
    message.bytes(1, std::string(size, '\xff'));
    message.bytes(1, "after");
    EXPECT_EQ(protobuf_all(message.wire(), 1), (std::vector<std::string>{std::string(size, '\xff'), "after"}));
  }
}

}  // namespace
}  // namespace muster
