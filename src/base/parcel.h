// Parcel: what one rank sends another: a few words, and blocks of floats that are moved rather than copied. Words are
// written and read in the same order; reading trusts nothing: whatever is missing, too long or out of range makes the
// reader fail, before anything is allocated for it, and everything that is read afterwards is zero or empty.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/result.h"

namespace muster {

struct Parcel {
  std::vector<std::byte> words;
  std::vector<std::vector<float>> blocks;
};

// Numbers, enumerations and structs of one of them, such as ids.
template <typename T>
concept Word = std::is_trivially_copyable_v<T> && std::has_unique_object_representations_v<T>;

class ParcelWriter {
 public:
  template <Word T>
  void put(T value) {
    put_bytes(&value, sizeof value);
  }
  void put(double value) { put_bytes(&value, sizeof value); }
  void put(const std::optional<double>& value);
  template <Word T>
  void put_list(std::span<const T> values) {
    put_sized(values.data(), values.size(), sizeof(T));
  }
  void put_list(std::span<const double> values) { put_sized(values.data(), values.size(), sizeof(double)); }
  void put_list(std::span<const float> values) { put_sized(values.data(), values.size(), sizeof(float)); }
  void put_text(std::string_view text) { put_sized(text.data(), text.size(), 1); }
  // For what is large: it travels from this memory.
  void put_block(std::vector<float> values) { parcel_.blocks.push_back(std::move(values)); }

  [[nodiscard]] Parcel finish() && { return std::move(parcel_); }

 private:
  void put_bytes(const void* from, std::size_t bytes);
  void put_sized(const void* from, std::size_t count, std::size_t each);

  Parcel parcel_;
};

class ParcelReader {
 public:
  explicit ParcelReader(Parcel parcel) : parcel_(std::move(parcel)) {}

  template <Word T>
  [[nodiscard]] T take() {
    T value{};
    take_bytes(&value, sizeof value);
    return value;
  }
  [[nodiscard]] bool take_flag() { return take_below<std::uint8_t>(2) == 1; }
  // A number, or an enumeration's, that is less than `end`.
  template <typename T>
  [[nodiscard]] T take_below(std::uint64_t end) {
    const T value = take<T>();
    if (static_cast<std::uint64_t>(value) < end) return value;
    failed_ = true;
    return T{};
  }
  [[nodiscard]] double take_double();
  [[nodiscard]] std::optional<double> take_optional();
  template <typename T>
  [[nodiscard]] std::vector<T> take_list() {
    std::vector<T> values(take_count(sizeof(T)));
    take_bytes(values.data(), values.size() * sizeof(T));
    return values;
  }
  // How many entries follow, each of at least `least` bytes: no more than there can be.
  [[nodiscard]] std::size_t take_count(std::size_t least);
  [[nodiscard]] std::string take_text();
  // The next block; fails if there is none or if it has more than `most` values.
  [[nodiscard]] std::vector<float> take_block(std::size_t most);

  [[nodiscard]] bool failed() const { return failed_; }
  void fail() { failed_ = true; }
  // Fails unless all was there and nothing is left. `what`: for the error.
  [[nodiscard]] Status finish(std::string_view what) const;

 private:
  void take_bytes(void* into, std::size_t bytes);

  Parcel parcel_;
  std::size_t at_ = 0;
  std::size_t next_block_ = 0;
  bool failed_ = false;
};

}  // namespace muster
