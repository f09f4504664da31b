#include "base/parcel.h"

namespace muster {

void ParcelWriter::put_bytes(const void* from, std::size_t bytes) {
  const auto* const first = static_cast<const std::byte*>(from);
  parcel_.words.insert(parcel_.words.end(), first, first + bytes);
}

void ParcelWriter::put_sized(const void* from, std::size_t count, std::size_t each) {
  put(std::uint64_t{count});
  put_bytes(from, count * each);
}

void ParcelWriter::put(const std::optional<double>& value) {
  put(static_cast<std::uint8_t>(value.has_value()));
  put(value.value_or(0));
}

void ParcelReader::take_bytes(void* into, std::size_t bytes) {
  if (failed_ || bytes > parcel_.words.size() - at_) {
    failed_ = true;
    return;
  }
  if (bytes > 0) std::memcpy(into, parcel_.words.data() + at_, bytes);
  at_ += bytes;
}

double ParcelReader::take_double() {
  double value = 0;
  take_bytes(&value, sizeof value);
  return value;
}

std::optional<double> ParcelReader::take_optional() {
  const bool set = take_flag();
  const double value = take_double();
  return set && !failed_ ? std::optional(value) : std::nullopt;
}

std::size_t ParcelReader::take_count(std::size_t least) {
  const auto count = take<std::uint64_t>();
  if (!failed_ && count <= (parcel_.words.size() - at_) / least) return count;
  failed_ = true;
  return 0;
}

std::string ParcelReader::take_text() {
  std::string text(take_count(1), '\0');
  take_bytes(text.data(), text.size());
  return text;
}

std::vector<float> ParcelReader::take_block(std::size_t most) {
  if (failed_ || next_block_ == parcel_.blocks.size() || parcel_.blocks[next_block_].size() > most) {
    failed_ = true;
    return {};
  }
  return std::move(parcel_.blocks[next_block_++]);
}

Status ParcelReader::finish(std::string_view what) const {
  if (!failed_ && at_ == parcel_.words.size() && next_block_ == parcel_.blocks.size()) return {};
  return failure("{} is malformed: {}", what,
                 failed_ ? "something is missing or out of range" : "something is left over");
}

}  // namespace muster
