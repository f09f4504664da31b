#include "data/readers/table.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/check.h"
#include "data/readers/table_features.h"

namespace muster {
namespace {

constexpr std::size_t kMostClasses = 65536;

template <typename T, typename Name>
Categories number_values(const std::vector<T>& values, Name name) {
  std::map<T, std::uint32_t> ids;
  for (const T& value : values) ids.try_emplace(value, 0);
  Categories categories;
  for (auto& [value, id] : ids) {
    id = static_cast<std::uint32_t>(categories.names.size());
    categories.names.push_back(name(value));
  }
  categories.ids.reserve(values.size());
  for (const T& value : values) categories.ids.push_back(ids[value]);
  return categories;
}

// Whether the names of numbered categories say no more than their ids do.
bool are_ids(const std::vector<std::string>& names) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] != fmt::format("{}", i)) return false;
  }
  return true;
}

template <typename T>
void take_rows(const std::vector<T>& from, std::size_t width, const std::vector<std::size_t>& rows,
               std::vector<T>& to) {
  if (from.empty()) return;
  to.reserve(rows.size() * width);
  for (const std::size_t row : rows) {
    const auto first = from.begin() + static_cast<std::ptrdiff_t>(row * width);
    to.insert(to.end(), first, first + static_cast<std::ptrdiff_t>(width));
  }
}

Samples part_of(const Samples& samples, const std::vector<std::size_t>& rows) {
  Samples part;
  part.storage = samples.storage;
  part.shape = samples.shape;
  part.classes = samples.classes;
  take_rows(samples.labels, 1, rows, part.labels);
  take_rows(samples.bytes, samples.shape.size(), rows, part.bytes);
  take_rows(samples.floats, samples.shape.size(), rows, part.floats);
  take_rows(samples.tokens, samples.shape.size(), rows, part.tokens);
  return part;
}

}  // namespace

Categories number_categories(const Category& category) {
  if (!category.words.empty()) return number_values(category.words, [](const std::string& word) { return word; });
  return number_values(category.numbers, number_name);
}

Result<RawData> divide(Table table) {
  const std::size_t count = table.labels.ids.size();
  MUSTER_CHECK(table.clients.ids.empty() || table.clients.ids.size() == count, "{} clients of {} rows",
               table.clients.ids.size(), count);
  MUSTER_CHECK(table.is_test.empty() || table.is_test.size() == count, "{} splits of {} rows", table.is_test.size(),
               count);
  RawData data;
  Categories& labels = table.labels;
  if (labels.names.size() > kMostClasses) {
    return failure(
        "the labels have {} different values, want at most {} classes: is this an id or a number to predict?",
        labels.names.size(), kMostClasses);
  }
  table.samples.classes = static_cast<std::uint32_t>(labels.names.size());
  table.samples.labels.assign(labels.ids.begin(), labels.ids.end());
  if (!are_ids(labels.names)) data.class_names = std::move(labels.names);
  const Categories& clients = table.clients;
  data.client_names = clients.names;

  std::vector<std::size_t> train_rows;
  std::vector<std::size_t> test_rows;
  for (std::size_t row = 0; row < count; ++row) {
    (!table.is_test.empty() && table.is_test[row] ? test_rows : train_rows).push_back(row);
  }
  if (train_rows.empty()) return failure("no training rows{}", count > 0 ? ": the split says test for all" : "");
  data.test = part_of(table.samples, test_rows);
  take_rows(clients.ids, 1, test_rows, data.test_clients);
  take_rows(clients.ids, 1, train_rows, data.train_clients);
  data.train = test_rows.empty() ? std::move(table.samples) : part_of(table.samples, train_rows);
  return data;
}

Status reshape(Samples& samples, const std::vector<std::uint32_t>& shape) {
  if (shape.empty()) return {};
  if (shape.size() != 3) {
    return usage_error("shape: {} numbers, want 3: height, width, channels", shape.size());
  }
  // Kept below 2^64 by stopping at the first factor that passes the row's size.
  const std::size_t row = samples.shape.size();
  std::size_t product = 1;
  for (const std::uint32_t size : shape) {
    if (product <= row) product *= size;
  }
  if (product != row) {
    return usage_error("shape: [{}] is not a row's {} features", fmt::join(shape, ", "), row);
  }
  samples.shape = {shape[0], shape[1], shape[2]};
  return {};
}

}  // namespace muster
