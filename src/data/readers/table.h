// What CSV and NPZ have in common: rows of features with a label each, perhaps a client and a split -> RawData.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "data/raw_data.h"
#include "data/readers/csv_dialect.h"
#include "data/readers/tokens.h"

namespace muster {

// What becomes of cells that hold nothing.
enum class MissingCells {
  kError,
  kMean,  // the mean of the training cells of the column; the most frequent category; an error for labels and clients
  kDrop,  // the row is left out
};

struct TableOptions {
  std::string label = "label";    // column or array names. A client or split under its default name may be absent;
  std::string client = "client";  // under any other name it must exist.
  std::string split = "split";
  MissingCells missing = MissingCells::kError;  // CSV
  std::vector<std::string> features;            // CSV: the columns that are used; empty = all others
  std::vector<std::string> drop;                // CSV: columns that are not used
  std::vector<std::string> categorical;         // CSV: columns of which each value is a feature, also if numbers
  std::string text;                             // CSV: the column of texts that are the samples; "" = none
  TextOptions tokens;                           // CSV: how these become tokens
  CsvDialectOptions dialect;
  std::vector<std::uint32_t> shape;  // height, width, channels of a row; empty = as the source has it
  bool sums = false;                 // CSV: RawData::sums is wanted
  bool one_client = false;           // all rows are of one client: a column or array of clients need not be there
};

// Different labels, client ids or categories as their source wrote them: all numbers, or words.
struct Category {
  std::vector<double> numbers;
  std::vector<std::string> words;
  [[nodiscard]] std::size_t size() const { return words.empty() ? numbers.size() : words.size(); }
};

// Ids 0..C-1 per value and the C names. Numbers that are exactly 0..C-1 keep their value; any other set is numbered in
// sorted order (numbers by value, words by bytes).
struct Categories {
  std::vector<std::uint32_t> ids;
  std::vector<std::string> names;
};
[[nodiscard]] Categories number_categories(const Category& category);

// One row per sample, all in source order.
struct Table {
  Samples samples;  // storage, shape and values; labels and classes are filled in by divide()
  Categories labels;
  Categories clients;         // no ids = none
  std::vector<bool> is_test;  // empty = all train
};

// Assigns classes and clients and divides the rows into train and test. Fails if there are no training rows.
// Preconditions: labels has a value per row, clients and is_test have one per row or are empty.
[[nodiscard]] Result<RawData> divide(Table table);

// {1, 1, n} rows read as height x width x channels. Fails, naming both sizes, unless the product is the row's size.
// An empty shape changes nothing.
[[nodiscard]] Status reshape(Samples& samples, const std::vector<std::uint32_t>& shape);

}  // namespace muster
