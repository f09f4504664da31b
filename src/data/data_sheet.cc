#include "data/data_sheet.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <unordered_set>

#include "base/hash.h"
#include "data/federated_data.h"
#include "data/shown_text.h"

namespace muster {
namespace {

Status check_names(const char* what, const std::vector<std::string>& names, std::size_t& count) {
  count += names.size();
  if (count > kMostSheetNames) return usage_error("more than {} labels and categories", kMostSheetNames);
  std::unordered_set<std::string_view> seen;
  for (const std::string& name : names) {
    if (name.size() > kMostSheetNameBytes) {
      return usage_error("{} '{}' has {} bytes, want at most {}", what, shown_briefly(name), name.size(),
                         kMostSheetNameBytes);
    }
    if (!seen.insert(name).second) return usage_error("{} '{}' comes twice", what, shown_briefly(name));
  }
  return {};
}

Status check_columns(const DataSheet& sheet, const DataOptions& options, std::size_t& names) {
  if (sheet.columns.size() > kMostSheetColumns) {
    return usage_error("{} columns, want at most {}", sheet.columns.size(), kMostSheetColumns);
  }
  std::vector<std::string> columns;
  for (const SheetColumn& column : sheet.columns) {
    const bool one_hot = column.kind == PreparedColumn::Kind::kOneHot;
    if (column.name.empty()) return usage_error("a column without a name");
    if (column.name == options.label || column.name == options.split) {
      return usage_error("column '{}' is no feature", shown_briefly(column.name));
    }
    if ((column.kind == PreparedColumn::Kind::kText) == options.text.empty()) {
      return usage_error("column '{}' {} a column of texts", shown_briefly(column.name),
                         options.text.empty() ? "is" : "is not");
    }
    if (one_hot == column.categories.empty()) {
      return usage_error("column '{}': {} categories", shown_briefly(column.name), column.categories.size());
    }
    if (column.counts.size() != (options.missing == "mean" ? column.categories.size() : 0)) {
      return usage_error("column '{}': {} counts of {} categories", shown_briefly(column.name), column.counts.size(),
                         column.categories.size());
    }
    for (const std::uint64_t count : column.counts) {
      if (count <= sheet.rows) continue;
      return usage_error("column '{}': {} cells of {} rows", shown_briefly(column.name), count, sheet.rows);
    }
    MUSTER_TRY(check_names("category", column.categories, names));
    columns.push_back(column.name);
  }
  std::size_t of_columns = 0;
  return check_names("column", columns, of_columns);
}

Status check_sums(const DataSheet& sheet, const DataOptions& options) {
  const bool table = !sheet.columns.empty();
  const bool texts = !options.text.empty();
  const bool wanted = options.normalize.value_or(table) || (table && options.missing == "mean");
  const auto numbers = std::ranges::count(sheet.columns, PreparedColumn::Kind::kNumber, &SheetColumn::kind);
  const Shape& shape = sheet.shape;
  const bool flat = shape.height == 1 && shape.width == 1;
  const std::size_t features = table ? static_cast<std::size_t>(numbers) : flat ? shape.size() : shape.channels;
  if (sheet.sums.size() != (wanted && !texts ? features : 0)) {
    return usage_error("{} sums, want {}", sheet.sums.size(), wanted && !texts ? features : 0);
  }
  const std::uint64_t most =
      std::uint64_t{sheet.rows} * (table || flat ? 1 : std::uint64_t{shape.height} * shape.width);
  for (const FeatureSums& sums : sheet.sums) {
    // Of floats, so that sums of all clients are finite, too.
    const double largest = static_cast<double>(sums.count) * std::numeric_limits<float>::max();
    const bool possible = std::abs(sums.sum) <= largest && sums.squares >= 0 &&
                          sums.squares <= 4 * largest * std::numeric_limits<float>::max();
    if (possible && sums.count <= most) continue;
    return usage_error("sums of {} values, {} and {}, of {} rows", sums.count, sums.sum, sums.squares, sheet.rows);
  }
  return {};
}

void add(Hasher& hasher, const std::string& text) {
  hasher.add(text.size());
  hasher.add(std::string_view(text));
}

}  // namespace

Status check_sheet(const DataSheet& sheet, const DataOptions& options) {
  if (sheet.rows == 0) return usage_error("no training rows");
  if (sheet.labels.empty()) return usage_error("no labels");
  std::size_t names = 0;
  MUSTER_TRY(check_names("label", sheet.labels, names));
  if (sheet.columns.empty() != (options.source == "npz")) {
    return usage_error("{} columns, but data.source is \"{}\"", sheet.columns.size(), options.source);
  }
  MUSTER_TRY(check_columns(sheet, options, names));
  const Shape& shape = sheet.shape;
  for (const std::uint64_t size : {std::uint64_t{shape.height}, std::uint64_t{shape.width},
                                   std::uint64_t{shape.channels}, std::uint64_t{shape.height} * shape.width}) {
    if (size == 0 || size > kMostSheetValues || size * shape.channels > kMostSheetValues) {
      return usage_error("samples of {} x {} x {}", shape.height, shape.width, shape.channels);
    }
  }
  return check_sums(sheet, options);
}

std::string shown_briefly(const std::string& name) {
  constexpr std::size_t kShown = 100;
  return name.size() <= kShown ? shown_text(name) : shown_text(name.substr(0, kShown)) + "...";
}

std::uint64_t fingerprint(const DataSheet& sheet) {
  Hasher hasher;
  hasher.add(std::uint64_t{sheet.rows});
  hasher.add(std::uint64_t{sheet.test_rows});
  hasher.add(sheet.labels.size());
  for (const std::string& label : sheet.labels) add(hasher, label);
  hasher.add(sheet.columns.size());
  for (const SheetColumn& column : sheet.columns) {
    add(hasher, column.name);
    hasher.add(static_cast<std::uint64_t>(column.kind));
    hasher.add(column.categories.size());
    for (const std::string& category : column.categories) add(hasher, category);
    for (const std::uint64_t count : column.counts) hasher.add(count);
  }
  for (const std::uint32_t size : {sheet.shape.height, sheet.shape.width, sheet.shape.channels}) {
    hasher.add(std::uint64_t{size});
  }
  hasher.add(std::uint64_t{sheet.bytes});
  for (const FeatureSums& sums : sheet.sums) {
    hasher.add(sums.count);
    hasher.add(sums.sum);
    hasher.add(sums.squares);
  }
  return hasher.digest();
}

DataSheet without_counts(DataSheet sheet) {
  sheet.rows = std::min(sheet.rows, 1u);
  sheet.test_rows = std::min(sheet.test_rows, 1u);
  sheet.sums.clear();
  for (SheetColumn& column : sheet.columns) column.counts.clear();
  return sheet;
}

std::optional<double> fill_of(const FeatureSums& sums) {
  return sums.count > 0 ? std::optional<double>(static_cast<float>(sums.mean())) : std::nullopt;
}

std::optional<double> fill_of(const std::vector<std::uint64_t>& category_counts) {
  const auto most = std::ranges::max_element(category_counts);
  if (most == category_counts.end() || *most == 0) return std::nullopt;
  return static_cast<double>(most - category_counts.begin());
}

std::vector<FeatureSums> feature_sums(const std::vector<PreparedColumn>& columns,
                                      const std::vector<FeatureSums>& numbers, std::uint64_t train_rows) {
  std::vector<FeatureSums> sums;
  std::size_t number = 0;
  for (const PreparedColumn& column : columns) {
    if (column.kind != PreparedColumn::Kind::kNumber) {
      sums.resize(sums.size() + column.features());
      continue;
    }
    const FeatureSums& there = numbers[number++];
    const std::uint64_t filled = column.fill && train_rows > there.count ? train_rows - there.count : 0;
    sums.push_back(merged(there, {.count = filled, .sum = static_cast<double>(filled) * column.fill.value_or(0)}));
  }
  return sums;
}

}  // namespace muster
