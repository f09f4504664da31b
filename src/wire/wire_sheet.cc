#include "wire/wire_sheet.h"

#include <algorithm>

namespace muster {
namespace {

using Kind = PreparedColumn::Kind;

v1::ColumnKind wire_kind(Kind kind) {
  switch (kind) {
    case Kind::kNumber:
      return v1::COLUMN_KIND_NUMBERS;
    case Kind::kOneHot:
      return v1::COLUMN_KIND_CATEGORIES;
    case Kind::kText:
      return v1::COLUMN_KIND_TEXTS;
  }
  return v1::COLUMN_KIND_UNSPECIFIED;
}

// One that this program does not know is like no other client's.
Kind kind_of(v1::ColumnKind kind) {
  if (kind == v1::COLUMN_KIND_NUMBERS) return Kind::kNumber;
  return kind == v1::COLUMN_KIND_CATEGORIES ? Kind::kOneHot : Kind::kText;
}

}  // namespace

void put(const DataSheet& sheet, v1::DataSheet& out) {
  out.set_rows(sheet.rows);
  out.set_test_rows(sheet.test_rows);
  for (const std::string& label : sheet.labels) out.add_labels(label);
  for (const SheetColumn& column : sheet.columns) {
    v1::Column& one = *out.add_columns();
    one.set_name(column.name);
    one.set_kind(wire_kind(column.kind));
    for (const std::string& category : column.categories) one.add_categories(category);
    for (const std::uint64_t count : column.counts) one.add_counts(static_cast<std::uint32_t>(count));
  }
  if (sheet.columns.empty()) {
    for (const std::uint32_t size : {sheet.shape.height, sheet.shape.width, sheet.shape.channels}) out.add_shape(size);
    out.set_bytes(sheet.bytes);
  }
  for (const FeatureSums& sums : sheet.sums) {
    v1::FeatureSums& one = *out.add_sums();
    one.set_count(sums.count);
    one.set_sum(sums.sum);
    one.set_squares(sums.squares);
  }
}

DataSheet take_sheet(const v1::DataSheet& in) {
  DataSheet sheet{.rows = in.rows(),
                  .test_rows = in.test_rows(),
                  .labels = {in.labels().begin(), in.labels().end()},
                  .bytes = in.bytes()};
  for (const v1::Column& column : in.columns()) {
    sheet.columns.push_back({.name = column.name(),
                             .kind = kind_of(column.kind()),
                             .categories = {column.categories().begin(), column.categories().end()},
                             .counts = {column.counts().begin(), column.counts().end()}});
  }
  // Names come sorted from no client that must be believed; what is equal must look equal.
  std::ranges::sort(sheet.labels);
  if (in.shape_size() > 0) {
    const auto side = [&](int i) { return i < in.shape_size() ? in.shape(i) : 0; };
    sheet.shape = {.height = side(0), .width = side(1), .channels = in.shape_size() > 3 ? 0 : side(2)};
  }
  for (const v1::FeatureSums& sums : in.sums()) sheet.sums.push_back({sums.count(), sums.sum(), sums.squares()});
  return sheet;
}

Status check_sheet_size(const v1::DataSheet& sheet) {
  const std::size_t bytes = sheet.ByteSizeLong();
  if (bytes <= kMostSheetBytes) return {};
  return usage_error(
      "what is to be told of the columns, categories and labels takes {:.1f} MiB, want at most {:.1f}; data.drop "
      "leaves columns out",
      static_cast<double>(bytes) / (1 << 20), static_cast<double>(kMostSheetBytes) / (1 << 20));
}

}  // namespace muster
