// How a key is declared: a row per key, with its section, field, accepted values and meaning.
#pragma once

#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "recipe/key_values.h"
#include "recipe/keys.h"

namespace muster {

// The row that was declared last, to say more about it.
class Row {
 public:
  explicit Row(Key& key) : key_(key) {}

  Row& unit(const char* unit) {
    key_.info.unit = unit;
    return *this;
  }
  // What holds where the key is not set, in words.
  Row& otherwise(const char* words) {
    key_.info.otherwise = words;
    return *this;
  }
  Row& instead_of(const char* other) {
    key_.instead_of = other;
    return *this;
  }
  Row& only(Condition condition) {
    key_.conditions.push_back(std::move(condition));
    return *this;
  }
  Row& only(std::optional<Condition> condition) {
    if (condition) key_.conditions.push_back(*std::move(condition));
    return *this;
  }

 private:
  Key& key_;
};

// Declares keys of one section whose fields are members of one struct.
template <typename Options>
class Section {
 public:
  using Find = Options& (*)(Recipe&);
  Section(std::vector<Key>& keys, const char* name, Find find) : keys_(keys), name_(name), find_(find) {}

  template <typename T>
  Row add(const char* key, T Options::*member, std::type_identity_t<Codec<T>> codec, const char* summary) {
    return row(
        key, summary, member, codec, [](T& field, T value) { field = std::move(value); },
        [write = codec.write](const T& field) { return write(field); });
  }
  template <typename T>
  Row add(const char* key, std::optional<T> Options::*member, std::type_identity_t<Codec<T>> codec,
          const char* summary) {
    return row(
        key, summary, member, codec, [](std::optional<T>& field, T value) { field = std::move(value); },
        [write = codec.write](const std::optional<T>& field) { return field ? write(*field) : std::string(); });
  }

 private:
  template <typename Field, typename T, typename Put, typename Write>
  Row row(const char* key, const char* summary, Field Options::*member, const Codec<T>& codec, Put put, Write write) {
    const auto field = [find = find_, member](Recipe& recipe) -> Field& { return find(recipe).*member; };
    keys_.push_back({.info = {.section = name_, .key = key, .summary = summary, .accepted = codec.accepted},
                     .set = [field, put, read = codec.read](Recipe& recipe, const toml::node& node) -> Status {
                       MUSTER_ASSIGN(T value, read(node));
                       put(field(recipe), std::move(value));
                       return {};
                     },
                     // Reading changes nothing: the fields are found through one function for both.
                     .get = [field, write](const Recipe& recipe) { return write(field(const_cast<Recipe&>(recipe))); },
                     .reset =
                         [field](Recipe& recipe) {
                           Recipe fresh;
                           field(recipe) = field(fresh);
                         },
                     .conditions = {},
                     .instead_of = {}});
    return Row(keys_.back());
  }

  std::vector<Key>& keys_;
  const char* name_;
  Find find_;
};

}  // namespace muster
