#include "data/agreement.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "base/names.h"
#include "data/readers/csv.h"
#include "data/readers/normalize.h"
#include "data/readers/number_text.h"
#include "data/readers/table.h"
#include "data/readers/table_features.h"
#include "data/readers/tokens.h"

namespace muster {
namespace {

using Kind = PreparedColumn::Kind;

// Nothing if it is not a finite number.
std::optional<double> number_of(const std::string& name) {
  const std::optional<double> number = parse_decimal(name, DecimalMark::kPoint);
  return number && std::isfinite(*number) ? number : std::nullopt;
}

bool all_numbers(std::span<const std::string> names) {
  return std::ranges::all_of(names, [](const std::string& name) { return number_of(name).has_value(); });
}

// The names of several clients' labels or categories, as one table would have them.
std::vector<std::string> united(const std::set<std::string>& names) {
  const std::vector<std::string> list(names.begin(), names.end());
  Category category;
  if (all_numbers(list)) {
    for (const std::string& name : list) category.numbers.push_back(*number_of(name));
  } else {
    category.words = list;
  }
  return number_categories(category).names;
}

std::string_view holds(Kind kind) {
  switch (kind) {
    case Kind::kNumber:
      return "numbers";
    case Kind::kOneHot:
      return "text or categories";
    case Kind::kText:
      return "texts";
  }
  return "";
}

std::string shown_shape(const Shape& shape, bool bytes) {
  return fmt::format("{} x {} x {}{}", shape.height, shape.width, shape.channels, bytes ? ", uint8" : "");
}

// Equal for sheets that one preparation can be made for.
std::string form_of(const DataSheet& sheet) {
  std::string form = all_numbers(sheet.labels) ? "numbers\n" : "words\n";
  if (sheet.columns.empty()) return form + shown_shape(sheet.shape, sheet.bytes);
  std::vector<std::string> columns;
  for (const SheetColumn& column : sheet.columns) {
    columns.push_back(fmt::format("{}:{}{}", static_cast<int>(column.kind), column.name.size(), column.name));
  }
  std::ranges::sort(columns);
  for (const std::string& column : columns) form += column;
  return form;
}

// Which of the sheets are of the form that most have.
std::vector<std::size_t> majority(std::span<const SheetOf> sheets) {
  std::map<std::string, std::vector<std::size_t>> by_form;
  for (std::size_t i = 0; i < sheets.size(); ++i) by_form[form_of(sheets[i].sheet)].push_back(i);
  const std::vector<std::size_t>* most = nullptr;
  for (const auto& [form, members] : by_form) {
    const bool better =
        !most || members.size() > most->size() || (members.size() == most->size() && members.front() < most->front());
    if (better) most = &members;
  }
  return *most;
}

const SheetColumn& column_of(const DataSheet& sheet, const std::string& name) {
  return *std::ranges::find(sheet.columns, name, &SheetColumn::name);
}

class AgreementMaker {
 public:
  AgreementMaker(std::span<const SheetOf> sheets, const DataOptions& options) : options_(options) {
    members_ = majority(sheets);
    for (const std::size_t i : members_) of_form_.push_back(&sheets[i].sheet);
    for (std::size_t i = 0; i < sheets.size(); ++i) {
      if (!std::ranges::binary_search(members_, i)) agreement_.misfits.push_back(i);
    }
  }

  Result<DataAgreement> make() {
    Preparation& agreed = agreement_.preparation;
    agreed.source = options_.source;
    agreed.label = options_.label;
    agreed.drops_missing = options_.missing == "drop";
    if (!options_.delimiter.empty()) agreed.delimiter = options_.delimiter == "tab" ? '\t' : options_.delimiter[0];
    if (options_.decimal == "comma") agreed.decimal = DecimalMark::kComma;
    std::set<std::string> labels;
    for (const DataSheet* sheet : of_form_) {
      labels.insert(sheet->labels.begin(), sheet->labels.end());
      rows_ += sheet->rows;
      if (sheet->test_rows > 0) agreed.split = options_.split;
    }
    agreed.classes = united(labels);
    MUSTER_TRY(of_form_[0]->columns.empty() ? agree_on_arrays() : agree_on_table());
    return std::move(agreement_);
  }

 private:
  Status agree_on_arrays() {
    Preparation& agreed = agreement_.preparation;
    Samples rows;
    rows.shape = of_form_[0]->shape;
    MUSTER_TRY(reshape(rows, options_.shape));
    agreed.storage = of_form_[0]->bytes ? Samples::Storage::kBytes : Samples::Storage::kFloats;
    agreed.shape = rows.shape;
    if (options_.normalize.value_or(false)) {
      standardise(merged_sums(), normalize_epsilon(agreed.storage), agreed.scale, agreed.offset);
    }
    return {};
  }

  Status agree_on_table() {
    Preparation& agreed = agreement_.preparation;
    for (const SheetColumn& column : of_form_[0]->columns) {
      PreparedColumn& prepared = agreed.columns.emplace_back(PreparedColumn{.name = column.name, .kind = column.kind});
      if (column.kind == Kind::kOneHot) MUSTER_TRY(unite_categories(prepared));
    }
    if (agreed.columns[0].kind == Kind::kText) return agree_on_text();
    std::vector<FeatureSums> sums;
    const bool fills = options_.missing == "mean";
    const bool standardises = options_.normalize.value_or(true);
    if (standardises || fills) sums = merged_sums();
    std::size_t number = 0;
    std::size_t features = 0;
    for (PreparedColumn& column : agreed.columns) {
      features += column.features();
      if (!fills) continue;
      column.fill = column.kind == Kind::kNumber ? fill_of(sums[number++]) : fill_of(category_counts(column));
    }
    Samples rows;
    rows.shape = {1, 1, static_cast<std::uint32_t>(features)};
    MUSTER_TRY(reshape(rows, options_.shape));
    agreed.shape = rows.shape;
    if (!standardises) return {};
    const bool mixed =
        std::ranges::any_of(agreed.columns, [](const PreparedColumn& column) { return column.kind == Kind::kOneHot; });
    sums = feature_sums(agreed.columns, sums, rows_);
    const NormalizePer per = mixed ? NormalizePer::kFeature : normalize_default(agreed.shape);
    if (per == NormalizePer::kChannel) sums = by_channel(sums, agreed.shape.channels);
    standardise(sums, normalize_epsilon(agreed.storage), agreed.scale, agreed.offset);
    return {};
  }

  Status agree_on_text() {
    Preparation& agreed = agreement_.preparation;
    if (options_.vocabulary.empty()) {
      return usage_error(
          "data.vocabulary: missing; clients do not tell their texts, so want a file of tokens at the cloud");
    }
    MUSTER_ASSIGN(const Vocabulary vocabulary, Vocabulary::read(options_.vocabulary));
    agreed.tokens = options_.tokens == "characters" ? TokenKind::kCharacters : TokenKind::kWords;
    agreed.vocabulary = vocabulary.tokens();
    agreed.storage = Samples::Storage::kTokens;
    const std::uint32_t length = options_.words.value_or(agreed.tokens == TokenKind::kCharacters ? 80 : 25);
    agreed.shape = {1, length, 1, vocabulary.size()};
    if (options_.missing == "mean") agreed.columns[0].fill = 0;
    return {};
  }

  Status unite_categories(PreparedColumn& prepared) {
    std::set<std::string> names;
    for (const DataSheet* sheet : of_form_) {
      const SheetColumn& column = column_of(*sheet, prepared.name);
      names.insert(column.categories.begin(), column.categories.end());
    }
    prepared.categories = united(names);
    const bool asked = std::ranges::find(options_.categorical, prepared.name) != options_.categorical.end();
    if (asked || prepared.categories.size() <= kMostCategories) return {};
    return usage_error(
        "column '{}' has {} different values with all clients, more than the {} that become features; leave it out "
        "with data.drop, or name it in data.categorical",
        shown_briefly(prepared.name), prepared.categories.size(), kMostCategories);
  }

  // Training rows of each category with all clients.
  std::vector<std::uint64_t> category_counts(const PreparedColumn& prepared) const {
    const CategoryNames names(prepared.categories);
    std::vector<std::uint64_t> counts(prepared.categories.size(), 0);
    for (const DataSheet* sheet : of_form_) {
      const SheetColumn& column = column_of(*sheet, prepared.name);
      for (std::size_t i = 0; i < column.counts.size(); ++i) {
        if (const auto known = names.find(column.categories[i], DecimalMark::kPoint))
          counts[*known] += column.counts[i];
      }
    }
    return counts;
  }

  // In the order of clients; of a table, in the agreed order of columns.
  std::vector<FeatureSums> merged_sums() const {
    std::vector<FeatureSums> all;
    for (const DataSheet* sheet : of_form_) merge(in_agreed_order(*sheet), all);
    return all;
  }

  std::vector<FeatureSums> in_agreed_order(const DataSheet& sheet) const {
    if (sheet.columns.empty()) return sheet.sums;
    std::map<std::string_view, const FeatureSums*> by_name;
    std::size_t number = 0;
    for (const SheetColumn& column : sheet.columns) {
      if (column.kind == Kind::kNumber) by_name[column.name] = &sheet.sums[number++];
    }
    std::vector<FeatureSums> ordered;
    for (const PreparedColumn& column : agreement_.preparation.columns) {
      if (column.kind == Kind::kNumber) ordered.push_back(*by_name[column.name]);
    }
    return ordered;
  }

  const DataOptions& options_;
  std::vector<std::size_t> members_;
  std::vector<const DataSheet*> of_form_;
  std::uint64_t rows_ = 0;
  DataAgreement agreement_;
};

Status check_columns(const DataSheet& sheet, const Preparation& agreed) {
  std::vector<std::string> names;
  for (const SheetColumn& column : sheet.columns) {
    names.push_back(column.name);
    const auto known = std::ranges::find(agreed.columns, column.name, &PreparedColumn::name);
    if (known == agreed.columns.end()) {
      return usage_error("it has a column '{}', which the other clients do not have; data.drop leaves it out",
                         shown_briefly(column.name));
    }
    if (known->kind != column.kind) {
      return usage_error("its column '{}' holds {}, that of the other clients {}", shown_briefly(column.name),
                         holds(column.kind), holds(known->kind));
    }
    const CategoryNames categories(known->categories);
    for (const std::string& category : column.categories) {
      if (categories.find(category, DecimalMark::kPoint)) continue;
      return usage_error("its column '{}' has the value '{}', which no client had when the run began",
                         shown_briefly(column.name), shown_briefly(category));
    }
  }
  for (const PreparedColumn& column : agreed.columns) {
    if (std::ranges::find(names, column.name) != names.end()) continue;
    const std::string near = column.name.size() < 100 ? nearest_name(column.name, names) : "";
    return usage_error("it has no column '{}', which the other clients have{}", shown_briefly(column.name),
                       near.empty() ? "" : fmt::format("; is its '{}' meant?", shown_briefly(near)));
  }
  return {};
}

}  // namespace

void sort_by_name(std::vector<SheetOf>& sheets) {
  const bool numbers =
      std::ranges::all_of(sheets, [](const SheetOf& sheet) { return number_of(sheet.name).has_value(); });
  std::ranges::sort(sheets, [&](const SheetOf& a, const SheetOf& b) {
    if (numbers && *number_of(a.name) != *number_of(b.name)) return *number_of(a.name) < *number_of(b.name);
    return a.name < b.name;
  });
}

Result<DataAgreement> agree(std::span<const SheetOf> sheets, const DataOptions& options) {
  if (sheets.empty()) return failure("no client has told of its data");
  return AgreementMaker(sheets, options).make();
}

Status check_fits(const DataSheet& sheet, const Preparation& agreed) {
  if (sheet.columns.empty() != agreed.columns.empty()) {
    return usage_error("it has {}, the other clients have {}", sheet.columns.empty() ? "arrays" : "a table",
                       agreed.columns.empty() ? "arrays" : "tables");
  }
  if (agreed.columns.empty()) {
    const bool bytes = agreed.storage == Samples::Storage::kBytes;
    if (sheet.bytes != bytes || sheet.shape.size() != agreed.shape.size()) {
      return usage_error("its samples are of {}, those of the other clients of {}",
                         shown_shape(sheet.shape, sheet.bytes), shown_shape(agreed.shape, bytes));
    }
  }
  MUSTER_TRY(check_columns(sheet, agreed));
  if (all_numbers(sheet.labels) != all_numbers(agreed.classes)) {
    return usage_error("its labels are {} ('{}'), those of the other clients are {} ('{}')",
                       all_numbers(sheet.labels) ? "numbers" : "words", shown_briefly(sheet.labels[0]),
                       all_numbers(agreed.classes) ? "numbers" : "words", shown_briefly(agreed.classes[0]));
  }
  const CategoryNames classes(agreed.classes);
  for (const std::string& label : sheet.labels) {
    if (classes.find(label, DecimalMark::kPoint)) continue;
    return usage_error("it has the label '{}', which no client had when the run began; there are {} classes",
                       shown_briefly(label), agreed.classes.size());
  }
  return {};
}

Status check_held_by_clients(const DataOptions& options) {
  constexpr const char* kWhy = "but clients bring data of their own";
  if (!options.clients) {
    return usage_error("data.clients: missing; how many clients bring data of their own (no data.path)");
  }
  if (!options.partition.empty() && options.partition != "natural") {
    return usage_error("data.partition: \"{}\", {}; want \"natural\", or none", options.partition, kWhy);
  }
  if (options.exemplars > 0) {
    return usage_error("data.exemplars: {}, {}, and the cloud has no samples", options.exemplars, kWhy);
  }
  if (options.augment_minority > 0) {
    return usage_error("data.augment-minority: {}, {}, and do not tell how frequent their classes are",
                       options.augment_minority, kWhy);
  }
  if (options.samples_min || options.samples_max) {
    return usage_error("data.samples-{}: {}, {}, all of it", options.samples_min ? "min" : "max",
                       options.samples_min ? *options.samples_min : *options.samples_max, kWhy);
  }
  return {};
}

}  // namespace muster
