// What the value of a recipe key may be: how it is read from TOML and written back. One Codec per kind of value.
#pragma once

#include <toml++/toml.h>

#include <functional>
#include <string>
#include <vector>

#include "plan/plan.h"
#include "recipe/toml_text.h"

namespace muster {

template <typename T>
struct Codec {
  std::string accepted;                              // in words
  std::function<Result<T>(const toml::node&)> read;  // errors say the value and what is accepted
  std::function<std::string(const T&)> write;        // as TOML; "" = not set
};

[[nodiscard]] Error unaccepted(const toml::node& node, const std::string& accepted);

// "" is written as nothing.
[[nodiscard]] Codec<std::string> any_text();
// Refuses "".
[[nodiscard]] Codec<std::string> some_text();
// One of a few words; "" (a default that depends on other keys) is written as nothing.
[[nodiscard]] Codec<std::string> one_of(std::vector<std::string> words);
// A list of such words, or one of them; none twice. An empty list is written as nothing.
[[nodiscard]] Codec<std::vector<std::string>> some_of(std::vector<std::string> words);
[[nodiscard]] Codec<bool> true_or_false();
// A list of at most `most` integers from 1 to `high`; an empty one is written as nothing.
[[nodiscard]] Codec<std::vector<std::uint32_t>> integers(std::uint32_t most, std::uint32_t high);
// A list of texts, or one text for a list of one; an empty list is written as nothing.
[[nodiscard]] Codec<std::vector<std::string>> texts();
[[nodiscard]] Codec<Amount> count_or_share();
// The same, or a list of clients by their numbers, none twice.
[[nodiscard]] Codec<std::variant<Amount, std::vector<std::uint32_t>>> clients_or_share();
// A number of groups, or a table { growth, alpha, beta }.
[[nodiscard]] Codec<GroupSchedule> group_schedule();

// An integer from `low` to `high`, of whatever type the field has.
struct IntegerRange {
  std::uint64_t low = 0;
  std::uint64_t high = 0;  // 0: as large as TOML writes them

  template <typename T>
  operator Codec<T>() const {  // NOLINT(google-explicit-constructor)
    const std::string words =
        high == 0 ? fmt::format("an integer >= {}", low) : fmt::format("an integer from {} to {}", low, high);
    return {.accepted = words,
            .read = [range = *this, words](const toml::node& node) -> Result<T> {
              const auto value = node.value_exact<std::int64_t>();
              if (!value || *value < 0 || !range.holds(static_cast<std::uint64_t>(*value))) {
                return unaccepted(node, words);
              }
              return static_cast<T>(*value);
            },
            .write = [](const T& value) { return fmt::format("{}", value); }};
  }

 private:
  [[nodiscard]] bool holds(std::uint64_t value) const { return value >= low && (high == 0 || value <= high); }
};
[[nodiscard]] inline IntegerRange integer(std::uint64_t low, std::uint64_t high) {
  return {low, high};
}
[[nodiscard]] inline IntegerRange integer_from(std::uint64_t low) {
  return {low, 0};
}

struct NumberRange {
  double low;
  double high;
  bool open_low = false;
  bool open_high = false;
};
[[nodiscard]] Codec<double> number(NumberRange range);

}  // namespace muster
