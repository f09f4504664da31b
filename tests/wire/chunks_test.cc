// Vectors in parts: whatever a peer sends, what comes out is what went in, or an error before memory is taken.
#include "wire/chunks.h"

#include <gtest/gtest.h>

#include <numeric>

namespace muster {
namespace {

constexpr ChunkReader::Limits kRoomy{.vector_values = 1 << 20, .held_values = 1 << 22, .held_vectors = 4};

WireVector ascending(std::uint64_t number, std::size_t size) {
  WireVector vector{number, std::vector<float>(size)};
  std::iota(vector.values.begin(), vector.values.end(), 0.5f);
  return vector;
}

std::vector<v1::Chunk> parts_of(const WireVector& vector) {
  std::vector<v1::Chunk> parts;
  std::size_t offset = 0;
  do {
    parts.push_back(chunk_of(vector, offset).chunk());
    offset += parts.back().values().size() / sizeof(float);
  } while (offset < vector.values.size());
  return parts;
}

TEST(Chunks, PutTogetherAreTheVector) {
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, kChunkValues, kChunkValues + 1, 3 * kChunkValues - 5}) {
    const WireVector vector = ascending(7, size);
    const std::vector<v1::Chunk> parts = parts_of(vector);
    EXPECT_EQ(parts.size(), std::max<std::size_t>(1, (size + kChunkValues - 1) / kChunkValues));
    ChunkReader reader(kRoomy);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      EXPECT_FALSE(i > 0 && reader.find(7)) << "before the last part";
      ASSERT_TRUE(reader.add(parts[i]).ok());
    }
    ASSERT_TRUE(reader.find(7));
    EXPECT_EQ(reader.find(7)->values, vector.values);
    EXPECT_EQ(reader.take(7), vector.values);
    EXPECT_FALSE(reader.take(7).has_value());
  }
}

TEST(Chunks, APartThatIsDamagedOutOfOrderOrOfAnotherSizeIsRefused) {
  const std::vector<v1::Chunk> parts = parts_of(ascending(3, 2 * kChunkValues));
  const auto refused = [&](v1::Chunk second) {
    ChunkReader reader(kRoomy);
    EXPECT_TRUE(reader.add(parts[0]).ok());
    return !reader.add(second).ok();
  };
  EXPECT_FALSE(refused(parts[1]));
  EXPECT_TRUE(refused(parts[0])) << "the same part again";
  v1::Chunk changed = parts[1];
  (*changed.mutable_values())[17] ^= 1;
  EXPECT_TRUE(refused(changed)) << "a bit flipped";
  changed = parts[1];
  changed.set_size(changed.size() + 1);
  EXPECT_TRUE(refused(changed)) << "another size";
  changed = parts[1];
  changed.set_offset(changed.offset() + 1);
  EXPECT_TRUE(refused(changed)) << "a gap";
  changed = parts[1];
  changed.mutable_values()->pop_back();
  EXPECT_TRUE(refused(changed)) << "half a number";
  ChunkReader fresh(kRoomy);
  EXPECT_FALSE(fresh.add(parts[1]).ok()) << "without its beginning";
  changed = parts[0];
  changed.set_vector(0);
  EXPECT_FALSE(fresh.add(changed).ok()) << "no number";
}

TEST(Chunks, LimitsHoldBeforeMemoryIsTaken) {
  ChunkReader reader({.vector_values = 100, .held_values = 150, .held_vectors = 2});
  v1::Chunk huge = chunk_of(ascending(1, 1), 0).chunk();
  huge.set_size(std::uint64_t{1} << 60);
  EXPECT_FALSE(reader.add(huge).ok());
  EXPECT_TRUE(reader.add(chunk_of(ascending(1, 100), 0).chunk()).ok());
  EXPECT_FALSE(reader.add(chunk_of(ascending(2, 51), 0).chunk()).ok()) << "more values than may be held";
  EXPECT_TRUE(reader.add(chunk_of(ascending(3, 50), 0).chunk()).ok());
  EXPECT_FALSE(reader.add(chunk_of(ascending(4, 0), 0).chunk()).ok()) << "more vectors than may be held";
  reader.forget(1);
  EXPECT_TRUE(reader.add(chunk_of(ascending(4, 100), 0).chunk()).ok()) << "what was forgotten leaves room";
}

}  // namespace
}  // namespace muster
