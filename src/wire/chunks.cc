#include "wire/chunks.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/hash.h"

namespace muster {

static_assert(std::endian::native == std::endian::little, "floats travel as they are in memory");

v1::Frame chunk_of(const WireVector& vector, std::size_t offset) {
  const std::size_t count = std::min(kChunkValues, vector.values.size() - offset);
  v1::Frame frame;
  v1::Chunk& chunk = *frame.mutable_chunk();
  chunk.set_vector(vector.number);
  chunk.set_size(vector.values.size());
  chunk.set_offset(offset);
  chunk.set_values(reinterpret_cast<const char*>(vector.values.data() + offset), count * sizeof(float));
  chunk.set_checksum(hash_bytes(chunk.values().data(), chunk.values().size()));
  return frame;
}

Status ChunkReader::add(const v1::Chunk& chunk) {
  const std::uint64_t number = chunk.vector();
  const std::string& bytes = chunk.values();
  const std::uint64_t count = bytes.size() / sizeof(float);
  auto found = held_.find(number);
  if (found == held_.end()) {
    if (number == 0 || chunk.offset() != 0) return failure("a part of vector {}, which has not begun", number);
    if (chunk.size() > limits_.vector_values) {
      return failure("a vector of {} values, want at most {}", chunk.size(), limits_.vector_values);
    }
    if (held_.size() >= limits_.held_vectors || held_values_ + chunk.size() > limits_.held_values) {
      return failure("more vectors than were asked for");
    }
    held_values_ += chunk.size();
    found = held_.emplace(number, Held{std::make_shared<WireVector>(), chunk.size()}).first;
    found->second.vector->number = number;
    found->second.vector->values.resize(std::min<std::uint64_t>(chunk.size(), kTakenAtOnce));
  }
  Held& held = found->second;
  std::vector<float>& values = held.vector->values;
  const std::uint64_t left = held.size - held.came;
  const bool fits = chunk.size() == held.size && chunk.offset() == held.came && count <= left &&
                    bytes.size() == count * sizeof(float) && count <= kChunkValues && (count > 0) == (left > 0);
  if (!fits) return failure("a part of vector {} that does not follow the one before", number);
  if (hash_bytes(bytes.data(), bytes.size()) != chunk.checksum()) {
    return failure("a part of vector {} was damaged on its way", number);
  }
  if (held.came + count > values.size()) values.resize(std::min<std::uint64_t>(held.size, 2 * values.size()));
  if (count > 0) std::memcpy(values.data() + held.came, bytes.data(), bytes.size());
  held.came += count;
  return {};
}

std::shared_ptr<const WireVector> ChunkReader::find(std::uint64_t number) const {
  const auto found = held_.find(number);
  if (found == held_.end() || found->second.came != found->second.size) return nullptr;
  return found->second.vector;
}

std::optional<std::vector<float>> ChunkReader::take(std::uint64_t number) {
  const auto found = held_.find(number);
  if (found == held_.end() || found->second.came != found->second.size) return std::nullopt;
  std::vector<float> values = std::move(found->second.vector->values);
  held_values_ -= values.size();
  held_.erase(found);
  return values;
}

void ChunkReader::forget(std::uint64_t number) {
  const auto found = held_.find(number);
  if (found == held_.end()) return;
  held_values_ -= found->second.size;
  held_.erase(found);
}

}  // namespace muster
