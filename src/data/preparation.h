// Preparation: how a row of the user's file becomes the numbers that a network sees. A plain value, made while the
// training data is read and kept with the model, so that new rows can be treated in the same way.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "data/samples.h"

namespace muster {

// A column of a table that is used as a feature.
struct PreparedColumn {
  enum class Kind {
    kNumber,  // one feature
    kOneHot,  // a feature per category: 1 for the row's, 0 for the others
    kText,    // cut into tokens; the only column then
  };

  std::string name;
  Kind kind = Kind::kNumber;
  std::vector<std::string> categories;  // kOneHot, in the order of their features
  // What stands in for a missing cell: a number, an index into `categories`, or 0 for the empty text. None: a missing
  // cell is an error.
  std::optional<double> fill;

  // Precondition: it is no text.
  [[nodiscard]] std::size_t features() const { return kind == Kind::kNumber ? 1 : categories.size(); }
  bool operator==(const PreparedColumn&) const = default;
};

enum class DecimalMark { kPoint, kComma };

// What a text is cut into.
enum class TokenKind { kCharacters, kWords };

// How text is stored in a file.
enum class TextEncoding { kUtf8, kUtf16, kLatin1 };

struct Preparation {
  std::string source;  // "csv", "npz", "mnist", ...; "" if nothing is known

  // As in Samples: a value is stored * scale + offset, with one entry, one per channel or one per feature; none = as
  // stored, bytes divided by 255.
  Samples::Storage storage = Samples::Storage::kFloats;
  Shape shape;
  std::vector<float> scale;
  std::vector<float> offset;

  std::vector<std::string> classes;  // a name for each, "0", "1", ... if the source has none

  // Tables: the features in order, and the columns that are none. "" = there was no such column.
  std::vector<PreparedColumn> columns;
  std::string label;
  std::string client;
  std::string split;
  char delimiter = ',';
  DecimalMark decimal = DecimalMark::kPoint;
  TextEncoding encoding = TextEncoding::kUtf8;
  bool drops_missing = false;  // a row with a missing cell is left out

  // Texts: what they are cut into, and the tokens of the ids from 2 on (see readers/tokens.h). Empty for all else.
  std::optional<TokenKind> tokens;
  std::vector<std::string> vocabulary;

  bool operator==(const Preparation&) const = default;
};

// How many ids its tokens have: padding and unknown ones come before those of the vocabulary.
[[nodiscard]] std::uint32_t token_ids(const Preparation& preparation);

// The names of all features in order: a column's, "column=category" for a one-hot feature, "" where features have no
// names (images, arrays, texts).
[[nodiscard]] std::vector<std::string> feature_names(const Preparation& preparation);

// One line of JSON. Bytes of names that are not UTF-8 are replaced.
[[nodiscard]] std::string to_json(const Preparation& preparation);

// What to_json() wrote. Fails, naming the field, on anything that could not have come from there: sizes that do not
// agree, numbers that are not finite, unknown words. Unknown fields are passed over.
[[nodiscard]] Result<Preparation> parse_preparation(std::string_view json);

}  // namespace muster
