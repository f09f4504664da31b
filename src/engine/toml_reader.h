// TomlReader: one table of a document read key by key. Errors say "FILE:LINE: key: what is wrong"; keys that nobody
// asked for are errors too, with the nearest name. The first error stays, so that a reader checks once, at the end.
#pragma once

#include <toml++/toml.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace muster {

class TomlReader {
 public:
  // Both are borrowed.
  TomlReader(const toml::table& table, std::string_view origin) : table_(table), origin_(origin) {}

  [[nodiscard]] std::string text(std::string_view key);                            // must be there, not empty
  [[nodiscard]] std::string text_or(std::string_view key, std::string otherwise);  // may be empty
  [[nodiscard]] std::optional<double> number(std::string_view key);
  [[nodiscard]] std::vector<std::string> texts(std::string_view key);          // empty if it is not there
  [[nodiscard]] std::vector<double> numbers(std::string_view key);             // likewise
  [[nodiscard]] const toml::table* table(std::string_view key);                // null if it is not there
  [[nodiscard]] std::vector<const toml::table*> tables(std::string_view key);  // of an array of tables

  void fail(std::string_view key, std::string_view what);
  // The first error so far.
  [[nodiscard]] Status status() const;
  // The first error, or that of a key nobody asked for.
  [[nodiscard]] Status finish();

 private:
  const toml::node* find(std::string_view key);
  template <typename T>
  std::vector<T> list(std::string_view key, std::string_view wanted);

  const toml::table& table_;
  std::string_view origin_;
  std::vector<std::string> known_;
  std::optional<Error> error_;
};

}  // namespace muster
