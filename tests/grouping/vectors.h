// Vectors for tests of methods that group by them: random rows, bundles, rotations, and the groups as plain lists.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/rows.h"
#include "grouping/grouping.h"

namespace muster {

using Lists = std::vector<std::vector<std::uint32_t>>;

inline Rows<float> rows_of(std::initializer_list<std::vector<float>> list) {
  Rows<float> rows(static_cast<std::uint32_t>(list.size()), list.begin()->size());
  std::uint32_t i = 0;
  for (const auto& row : list) std::ranges::copy(row, rows.row(i++).begin());
  return rows;
}

inline Rows<float> random_rows(std::uint32_t count, std::size_t width, std::uint64_t seed) {
  Rows<float> rows(count, width);
  Stream stream({.seed = seed});
  for (float& value : rows.values) value = static_cast<float>(stream.normal());
  return rows;
}

// Row k is noise around centre k % centres.
inline Rows<float> bundles(std::uint32_t count, std::size_t width, std::uint32_t centres, double noise,
                           std::uint64_t seed) {
  const Rows<float> middle = random_rows(centres, width, seed + 1000);
  Rows<float> rows = random_rows(count, width, seed);
  for (std::uint32_t k = 0; k < count; ++k) {
    for (std::size_t c = 0; c < width; ++c) {
      rows.row(k)[c] = middle.row(k % centres)[c] + static_cast<float>(noise) * rows.row(k)[c];
    }
  }
  return rows;
}

inline Lists bundle_lists(std::uint32_t count, std::uint32_t centres) {
  Lists lists(centres);
  for (std::uint32_t k = 0; k < count; ++k) lists[k % centres].push_back(k);
  return lists;
}

// The rows after the same random reflections: an orthogonal transform.
inline Rows<float> rotated(const Rows<float>& rows, std::uint64_t seed) {
  Rows<float> result = rows;
  Stream stream({.seed = seed});
  std::vector<double> mirror(rows.width);
  for (int reflection = 0; reflection < 6; ++reflection) {
    double squares = 0;
    for (double& value : mirror) {
      value = stream.normal();
      squares += value * value;
    }
    for (std::uint32_t k = 0; k < result.count(); ++k) {
      double product = 0;
      for (std::size_t c = 0; c < rows.width; ++c) product += result.row(k)[c] * mirror[c];
      for (std::size_t c = 0; c < rows.width; ++c) {
        result.row(k)[c] = static_cast<float>(result.row(k)[c] - 2 * product / squares * mirror[c]);
      }
    }
  }
  return result;
}

inline Rows<float> permuted(const Rows<float>& rows, const std::vector<std::uint32_t>& order) {
  Rows<float> result(rows.count(), rows.width);
  for (std::uint32_t k = 0; k < rows.count(); ++k) std::ranges::copy(rows.row(order[k]), result.row(k).begin());
  return result;
}

inline std::vector<std::uint32_t> random_order(std::uint32_t count, std::uint64_t seed) {
  std::vector<std::uint32_t> order(count);
  for (std::uint32_t k = 0; k < count; ++k) order[k] = k;
  Stream stream({.seed = seed});
  stream.shuffle(std::span(order));
  return order;
}

inline Lists group_lists(const Grouping& grouping) {
  Lists lists;
  for (std::uint32_t g = 0; g < grouping.count(); ++g) {
    lists.emplace_back();
    for (const ClientId client : grouping.members({g})) lists.back().push_back(client.value);
  }
  return lists;
}

// Lists of positions in `order` -> the sorted lists of what stands there.
inline Lists named_by(Lists lists, const std::vector<std::uint32_t>& order) {
  for (auto& list : lists) {
    for (std::uint32_t& item : list) item = order[item];
    std::ranges::sort(list);
  }
  std::ranges::sort(lists);
  return lists;
}

// The groups of clients with as many samples each, or none if that fails.
inline Lists groups_by(const GroupingOptions& options, const RowsView<float>& vectors,
                       std::vector<std::string>* notes = nullptr, const GroupingCall& call = {}) {
  const std::vector<std::uint32_t> samples(vectors.count(), 20);
  const auto formed = form_groups(options, {.samples = samples, .vectors = vectors}, call);
  EXPECT_TRUE(formed) << formed.error().message;
  if (!formed) return {};
  if (notes) *notes = formed->notes;
  return group_lists(formed->grouping);
}

// What is wrong with the options or the vectors; "" if nothing is.
inline std::string complaint(const GroupingOptions& options, const RowsView<float>& vectors,
                             const RowsView<float>& centres = {}) {
  const std::vector<std::uint32_t> samples(vectors.count(), 20);
  const auto formed = form_groups(options, {.samples = samples, .vectors = vectors, .centres = centres}, {});
  return formed ? "" : formed.error().message;
}

}  // namespace muster
