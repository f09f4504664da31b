#include "data/preparation.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <unordered_set>

namespace muster {
namespace {

using Json = nlohmann::ordered_json;

// Above any source's, and small enough that no product of two of them overflows.
constexpr std::uint64_t kMostFeatures = std::uint64_t{1} << 31;

template <typename Value, std::size_t kCount>
using Words = std::array<std::pair<Value, const char*>, kCount>;
constexpr Words<TokenKind, 2> kTokenKinds{{{TokenKind::kCharacters, "characters"}, {TokenKind::kWords, "words"}}};
constexpr Words<Samples::Storage, 3> kStorages{{{Samples::Storage::kBytes, "bytes"},
                                                {Samples::Storage::kFloats, "floats"},
                                                {Samples::Storage::kTokens, "tokens"}}};
constexpr Words<DecimalMark, 2> kDecimals{{{DecimalMark::kPoint, "point"}, {DecimalMark::kComma, "comma"}}};
constexpr Words<TextEncoding, 3> kEncodings{
    {{TextEncoding::kUtf8, "utf-8"}, {TextEncoding::kUtf16, "utf-16"}, {TextEncoding::kLatin1, "latin-1"}}};
constexpr Words<PreparedColumn::Kind, 3> kKinds{{{PreparedColumn::Kind::kNumber, "number"},
                                                 {PreparedColumn::Kind::kOneHot, "one-hot"},
                                                 {PreparedColumn::Kind::kText, "text"}}};

template <typename Value, std::size_t kCount>
const char* word_of(Value value, const Words<Value, kCount>& words) {
  return std::ranges::find(words, value, &std::pair<Value, const char*>::first)->second;
}

// The fields of one object. The first field that is wrong decides the error; later reads leave their target alone.
class Fields {
 public:
  Fields(const Json& object, std::string within) : object_(object), within_(std::move(within)) {
    if (!object.is_object()) refuse("", "want an object");
  }

  [[nodiscard]] Status status() const { return error_ ? Status(*error_) : Status(); }

  void text(const char* name, std::string& target) {
    const Json* field = find(name);
    if (!field) return;
    if (!field->is_string()) return refuse(name, "want text");
    target = field->get_ref<const std::string&>();
  }

  void texts(const char* name, std::vector<std::string>& target) {
    const Json* field = find(name);
    if (!field) return;
    if (!field->is_array()) return refuse(name, "want a list of texts");
    for (const Json& entry : *field) {
      if (!entry.is_string()) return refuse(name, "want a list of texts");
      target.push_back(entry.get_ref<const std::string&>());
    }
  }

  void numbers(const char* name, std::vector<float>& target) {
    const Json* field = find(name);
    if (!field) return;
    if (!field->is_array()) return refuse(name, "want a list of numbers");
    for (const Json& entry : *field) {
      if (!entry.is_number()) return refuse(name, "want a list of numbers");
      const double value = entry.get<double>();
      if (!(std::abs(value) <= std::numeric_limits<float>::max())) return refuse(name, "want finite numbers");
      target.push_back(static_cast<float>(value));
    }
  }

  void number(const char* name, std::optional<double>& target) {
    const Json* field = find(name);
    if (!field || field->is_null()) return;
    if (!field->is_number() || !std::isfinite(field->get<double>())) return refuse(name, "want a finite number");
    target = field->get<double>();
  }

  void shape(const char* name, Shape& target) {
    const Json* field = find(name);
    if (!field) return;
    if (!field->is_array() || field->size() != 3) return refuse(name, "want height, width and channels");
    std::array<std::uint32_t, 3> sizes{};
    std::uint64_t product = 1;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const Json& entry = (*field)[i];
      if (!entry.is_number_unsigned()) return refuse(name, "want three integers >= 1");
      const auto size = entry.get<std::uint64_t>();
      if (size < 1 || size > kMostFeatures || (product *= size) > kMostFeatures) {
        return refuse(name, "want three integers >= 1 whose product is at most 2^31");
      }
      sizes[i] = static_cast<std::uint32_t>(size);
    }
    target = {sizes[0], sizes[1], sizes[2]};
  }

  template <typename Value, std::size_t kCount>
  void one_of(const char* name, const Words<Value, kCount>& words, Value& target) {
    std::string word;
    text(name, word);
    if (error_ || !object_.contains(name)) return;
    const auto found = std::ranges::find(words, word, &std::pair<Value, const char*>::second);
    if (found == words.end()) return refuse(name, "an unknown word");
    target = found->first;
  }

  // The list of objects under `name`; null if there is none.
  const Json* list(const char* name) {
    const Json* field = find(name);
    if (field && !field->is_array()) refuse(name, "want a list");
    return error_ ? nullptr : field;
  }

  void refuse(const char* name, const char* why) {
    if (error_) return;
    error_ = failure("preparation: {}{}: {}", within_, name, why);
  }

 private:
  const Json* find(const char* name) const {
    if (error_) return nullptr;
    const auto found = object_.find(name);
    return found == object_.end() ? nullptr : &*found;
  }

  const Json& object_;
  std::string within_;
  std::optional<Error> error_;
};

bool has_duplicates(const std::vector<std::string>& names) {
  const std::unordered_set<std::string_view> distinct(names.begin(), names.end());
  return distinct.size() != names.size();
}

Result<PreparedColumn> parse_column(const Json& json, std::size_t index) {
  PreparedColumn column;
  Fields fields(json, fmt::format("columns[{}].", index));
  fields.text("name", column.name);
  fields.one_of("kind", kKinds, column.kind);
  fields.texts("categories", column.categories);
  fields.number("fill", column.fill);
  const bool one_hot = column.kind == PreparedColumn::Kind::kOneHot;
  if (column.name.empty()) fields.refuse("name", "missing");
  if (one_hot && column.categories.empty()) fields.refuse("categories", "a one-hot column needs at least one");
  if (!one_hot && !column.categories.empty()) fields.refuse("categories", "a column of numbers has none");
  if (has_duplicates(column.categories)) fields.refuse("categories", "a name comes twice");
  if (one_hot && column.fill) {
    const double index_of_fill = *column.fill;
    if (!(index_of_fill >= 0 && index_of_fill < static_cast<double>(column.categories.size()) &&
          index_of_fill == std::floor(index_of_fill))) {
      fields.refuse("fill", "want the index of a category");
    }
  }
  MUSTER_TRY(fields.status());
  return column;
}

void check_sizes(const Preparation& preparation, Fields& fields) {
  const std::size_t entries = preparation.scale.size();
  if (preparation.offset.size() != entries) fields.refuse("offset", "want as many numbers as scale has");
  if (entries > 1 && entries != preparation.shape.channels && entries != preparation.shape.size()) {
    fields.refuse("scale", "want one number, one per channel or one per feature");
  }
  std::size_t features = 0;
  std::vector<std::string> names;
  for (const PreparedColumn& column : preparation.columns) {
    features += column.features();
    names.push_back(column.name);
  }
  const bool texts = std::ranges::any_of(
      preparation.columns, [](const PreparedColumn& column) { return column.kind == PreparedColumn::Kind::kText; });
  if (texts && (preparation.columns.size() != 1 || !preparation.tokens)) {
    fields.refuse("columns", "want a column of text to be the only one, and tokens of it");
  }
  if (texts != (!preparation.columns.empty() && preparation.storage == Samples::Storage::kTokens)) {
    fields.refuse("storage", "want tokens of a column of text, and of no other");
  }
  if (!texts && !preparation.columns.empty() && features != preparation.shape.size()) {
    fields.refuse("columns", "want as many features as the shape has");
  }
  for (const std::string* name : {&preparation.label, &preparation.client, &preparation.split}) {
    if (!name->empty()) names.push_back(*name);
  }
  if (has_duplicates(names)) fields.refuse("columns", "a column comes twice");
  if (has_duplicates(preparation.classes)) fields.refuse("classes", "a name comes twice");
}

Result<Preparation> from_json(const Json& json) {
  Preparation preparation;
  Fields fields(json, "");
  fields.text("source", preparation.source);
  fields.one_of("storage", kStorages, preparation.storage);
  fields.shape("shape", preparation.shape);
  fields.numbers("scale", preparation.scale);
  fields.numbers("offset", preparation.offset);
  fields.texts("classes", preparation.classes);
  fields.text("label", preparation.label);
  fields.text("client", preparation.client);
  fields.text("split", preparation.split);
  std::string delimiter(1, preparation.delimiter);
  fields.text("delimiter", delimiter);
  if (delimiter.size() != 1 || std::string_view(",;\t|").find(delimiter[0]) == std::string_view::npos) {
    fields.refuse("delimiter", "want a comma, a semicolon, a tab or a bar");
  }
  fields.one_of("decimal", kDecimals, preparation.decimal);
  fields.one_of("encoding", kEncodings, preparation.encoding);
  std::string missing;
  fields.text("missing", missing);
  preparation.drops_missing = missing == "drop";
  if (!missing.empty() && !preparation.drops_missing) fields.refuse("missing", "an unknown word");
  fields.texts("vocabulary", preparation.vocabulary);
  if (!preparation.vocabulary.empty()) {
    fields.one_of("tokens", kTokenKinds, preparation.tokens.emplace());
    preparation.shape.tokens = token_ids(preparation);
    if (has_duplicates(preparation.vocabulary)) fields.refuse("vocabulary", "a token comes twice");
  }
  if (const Json* columns = fields.list("columns")) {
    for (const Json& column : *columns) {
      MUSTER_ASSIGN(PreparedColumn parsed, parse_column(column, preparation.columns.size()));
      preparation.columns.push_back(std::move(parsed));
    }
  }
  check_sizes(preparation, fields);
  MUSTER_TRY(fields.status());
  preparation.delimiter = delimiter[0];
  return preparation;
}

Json json_of(const PreparedColumn& column) {
  Json json = {{"name", column.name}, {"kind", word_of(column.kind, kKinds)}};
  if (column.kind == PreparedColumn::Kind::kOneHot) json["categories"] = column.categories;
  if (column.fill) json["fill"] = *column.fill;
  return json;
}

}  // namespace

std::uint32_t token_ids(const Preparation& preparation) {
  return static_cast<std::uint32_t>(preparation.vocabulary.size()) + 2;
}

std::vector<std::string> feature_names(const Preparation& preparation) {
  if (preparation.columns.empty() || preparation.storage == Samples::Storage::kTokens) {
    return std::vector<std::string>(preparation.shape.size());
  }
  std::vector<std::string> names;
  for (const PreparedColumn& column : preparation.columns) {
    if (column.kind == PreparedColumn::Kind::kNumber) names.push_back(column.name);
    for (const std::string& category : column.categories) names.push_back(column.name + "=" + category);
  }
  return names;
}

std::string to_json(const Preparation& preparation) {
  Json json = {{"source", preparation.source},
               {"storage", word_of(preparation.storage, kStorages)},
               {"shape", {preparation.shape.height, preparation.shape.width, preparation.shape.channels}},
               {"scale", preparation.scale},
               {"offset", preparation.offset},
               {"classes", preparation.classes}};
  if (!preparation.columns.empty()) {
    json["columns"] = Json::array();
    for (const PreparedColumn& column : preparation.columns) json["columns"].push_back(json_of(column));
    json["delimiter"] = std::string(1, preparation.delimiter);
    json["decimal"] = word_of(preparation.decimal, kDecimals);
    json["encoding"] = word_of(preparation.encoding, kEncodings);
    if (preparation.drops_missing) json["missing"] = "drop";
  }
  for (const auto& [name, column] :
       {std::pair("label", &preparation.label), {"client", &preparation.client}, {"split", &preparation.split}}) {
    if (!column->empty()) json[name] = *column;
  }
  if (preparation.tokens) {
    json["tokens"] = word_of(*preparation.tokens, kTokenKinds);
    json["vocabulary"] = preparation.vocabulary;
  }
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<Preparation> parse_preparation(std::string_view text) {
  // A value that is nested too deeply cannot be destroyed without recursion: it is cut off while it is parsed.
  bool too_deep = false;
  const auto shallow = [&](int depth, Json::parse_event_t, Json&) {
    too_deep = too_deep || depth > 8;
    return !too_deep;
  };
  const Json json = Json::parse(text, shallow, false);
  if (too_deep || json.is_discarded()) return failure("preparation: not JSON of the kind that is written here");
  return from_json(json);
}

}  // namespace muster
