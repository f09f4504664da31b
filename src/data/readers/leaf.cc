#include "data/readers/leaf.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/file.h"
#include "data/readers/glove.h"
#include "data/readers/table.h"

namespace muster {
namespace {

constexpr std::int32_t kMostClasses = 65536;
constexpr std::size_t kTextPosition = 4;  // in a Sent140 row: id, date, query, user, text, tag

// Builds a LeafFile from parse events, so that no document tree of a large file is ever held.
class LeafBuilder final : public nlohmann::json_sax<nlohmann::json> {
 public:
  Result<LeafFile> finish() &&;
  [[nodiscard]] Error take_error() { return std::move(error_); }

  bool null() override { return scalar("null"); }
  bool boolean(bool) override { return scalar("a boolean"); }
  bool number_integer(number_integer_t value) override { return number(static_cast<double>(value)); }
  bool number_unsigned(number_unsigned_t value) override { return number(static_cast<double>(value)); }
  bool number_float(number_float_t value, const string_t&) override { return number(value); }
  bool string(string_t& value) override;
  bool binary(binary_t&) override { return scalar("binary data"); }
  bool start_object(std::size_t) override;
  bool key(string_t& name) override;
  bool end_object() override;
  bool start_array(std::size_t) override;
  bool end_array() override;
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) override {
    return fail(failure("broken JSON near byte {}", position));
  }

 private:
  // Where the parser stands. kSkip is inside a value of a key that is of no concern here.
  enum class State { kStart, kRoot, kUsers, kCounts, kUserData, kUser, kX, kRow, kY, kSkip, kDone };

  bool fail(Error error) {
    error_ = std::move(error);
    return false;
  }
  bool number(double value);
  bool scalar(const char* what);
  bool unexpected(const char* what) { return fail(failure("{}: unexpected {}", where(), what)); }
  bool end_user();
  bool end_row();
  bool add_text(std::string text);
  [[nodiscard]] std::string where() const;
  bool begin_skip(State back) {
    after_skip_ = back;
    skip_depth_ = 1;
    state_ = State::kSkip;
    return true;
  }

  State state_ = State::kStart;
  State after_skip_ = State::kStart;
  std::size_t skip_depth_ = 0;
  std::string key_;
  Error error_;

  LeafFile file_;
  std::vector<std::string> listed_users_;
  std::vector<double> listed_counts_;
  bool has_users_ = false;
  bool has_counts_ = false;
  bool has_data_ = false;
  std::unordered_map<std::string, std::uint32_t> user_ids_;
  std::vector<std::size_t> counts_;  // per user of user_data

  std::size_t user_rows_ = 0;    // rows of x seen for the current user
  std::size_t user_labels_ = 0;  // entries of y
  bool has_x_ = false;
  bool has_y_ = false;
  std::size_t row_items_ = 0;
  std::size_t row_numbers_ = 0;
  std::string row_text_;
  bool row_has_text_ = false;
};

std::string LeafBuilder::where() const {
  switch (state_) {
    case State::kUsers:
      return "users";
    case State::kCounts:
      return "num_samples";
    case State::kUserData:
      return "user_data";
    case State::kUser:
      return fmt::format("user '{}'", file_.users.back());
    case State::kX:
    case State::kRow:
      return fmt::format("user '{}': x: row {}", file_.users.back(), user_rows_);
    case State::kY:
      return fmt::format("user '{}': y: row {}", file_.users.back(), user_labels_);
    default:
      return "top level";
  }
}

bool LeafBuilder::number(double value) {
  switch (state_) {
    case State::kCounts:
      listed_counts_.push_back(value);
      return true;
    case State::kRow: {
      const auto number = static_cast<float>(value);
      if (!std::isfinite(number)) return fail(failure("{}: {} is too large a number", where(), value));
      file_.numbers.push_back(number);
      ++row_items_;
      ++row_numbers_;
      return true;
    }
    case State::kY:
      if (!(value >= 0 && value < kMostClasses) || value != std::floor(value)) {
        return fail(failure("{}: label {}, want an integer in 0..{}", where(), value, kMostClasses - 1));
      }
      if (!file_.label_texts.empty()) return fail(failure("{}: a number, but other labels are texts", where()));
      file_.labels.push_back(static_cast<std::int32_t>(value));
      ++user_labels_;
      return true;
    default:
      return scalar("a number");
  }
}

bool LeafBuilder::scalar(const char* what) {
  if (state_ == State::kSkip) return true;
  if (state_ == State::kRoot && key_ != "users" && key_ != "num_samples" && key_ != "user_data") return true;
  if (state_ == State::kUser && key_ != "x" && key_ != "y") return true;
  return unexpected(what);
}

bool LeafBuilder::string(string_t& value) {
  switch (state_) {
    case State::kUsers:
      listed_users_.push_back(std::move(value));
      return true;
    case State::kX:
      return add_text(std::move(value));
    case State::kY:
      if (!file_.labels.empty()) return fail(failure("{}: a text, but other labels are numbers", where()));
      file_.label_texts.push_back(std::move(value));
      ++user_labels_;
      return true;
    case State::kRow:
      if (row_items_++ == kTextPosition) {
        row_text_ = std::move(value);
        row_has_text_ = true;
      }
      return true;
    default:
      return scalar("a string");
  }
}

bool LeafBuilder::start_object(std::size_t) {
  switch (state_) {
    case State::kStart:
      state_ = State::kRoot;
      return true;
    case State::kRoot:
      if (key_ == "user_data") {
        if (std::exchange(has_data_, true)) return fail(failure("user_data comes twice"));
        state_ = State::kUserData;
        return true;
      }
      if (key_ == "users" || key_ == "num_samples") return fail(failure("{}: want an array", key_));
      return begin_skip(State::kRoot);
    case State::kUserData: {
      const auto id = static_cast<std::uint32_t>(file_.users.size());
      if (!user_ids_.emplace(key_, id).second) return fail(failure("user_data: user '{}' comes twice", key_));
      file_.users.push_back(key_);
      user_rows_ = user_labels_ = 0;
      has_x_ = has_y_ = false;
      state_ = State::kUser;
      return true;
    }
    case State::kUser:
      if (key_ == "x" || key_ == "y") return fail(failure("{}: {}: want an array", where(), key_));
      return begin_skip(State::kUser);
    case State::kSkip:
      ++skip_depth_;
      return true;
    default:
      return unexpected("object");
  }
}

bool LeafBuilder::key(string_t& name) {
  if (state_ != State::kSkip) key_ = std::move(name);
  return true;
}

bool LeafBuilder::end_object() {
  switch (state_) {
    case State::kSkip:
      if (--skip_depth_ == 0) state_ = after_skip_;
      return true;
    case State::kUser:
      state_ = State::kUserData;
      return end_user();
    case State::kUserData:
      state_ = State::kRoot;
      return true;
    default:
      state_ = State::kDone;
      return true;
  }
}

bool LeafBuilder::start_array(std::size_t) {
  switch (state_) {
    case State::kRoot:
      if (key_ == "users" || key_ == "num_samples") {
        const bool users = key_ == "users";
        if (std::exchange(users ? has_users_ : has_counts_, true)) return fail(failure("{} comes twice", key_));
        state_ = users ? State::kUsers : State::kCounts;
        return true;
      }
      if (key_ == "user_data") return fail(failure("user_data: want an object"));
      return begin_skip(State::kRoot);
    case State::kUser:
      if (key_ == "x" || key_ == "y") {
        const bool x = key_ == "x";
        if (std::exchange(x ? has_x_ : has_y_, true)) return fail(failure("{}: {} comes twice", where(), key_));
        state_ = x ? State::kX : State::kY;
        return true;
      }
      return begin_skip(State::kUser);
    case State::kX:
      row_items_ = row_numbers_ = 0;
      row_has_text_ = false;
      state_ = State::kRow;
      return true;
    case State::kSkip:
      ++skip_depth_;
      return true;
    default:
      return unexpected("array");
  }
}

bool LeafBuilder::end_array() {
  switch (state_) {
    case State::kSkip:
      if (--skip_depth_ == 0) state_ = after_skip_;
      return true;
    case State::kRow: {
      const bool good = end_row();
      state_ = State::kX;
      return good;
    }
    case State::kX:
    case State::kY:
      state_ = State::kUser;
      return true;
    default:
      state_ = State::kRoot;
      return true;
  }
}

bool LeafBuilder::add_text(std::string text) {
  if (!file_.numbers.empty()) return fail(failure("{}: a sentence, but other rows are numbers", where()));
  file_.texts.push_back(std::move(text));
  ++user_rows_;
  return true;
}

bool LeafBuilder::end_row() {
  if (row_numbers_ < row_items_) {
    if (!row_has_text_) {
      return fail(failure("{}: want numbers only, or [id, date, query, user, text, tag] with a text", where()));
    }
    file_.numbers.resize(file_.numbers.size() - row_numbers_);
    return add_text(std::move(row_text_));
  }
  if (!file_.texts.empty()) return fail(failure("{}: numbers, but other rows are sentences", where()));
  if (row_numbers_ == 0) return fail(failure("{}: is empty", where()));
  if (row_numbers_ > std::numeric_limits<std::uint32_t>::max()) return fail(failure("{}: too long", where()));
  if (file_.features == 0) file_.features = static_cast<std::uint32_t>(row_numbers_);
  if (row_numbers_ != file_.features) {
    return fail(failure("{}: {} numbers, want {} as in the first row", where(), row_numbers_, file_.features));
  }
  ++user_rows_;
  return true;
}

bool LeafBuilder::end_user() {
  const std::string& user = file_.users.back();
  if (!has_x_ || !has_y_) return fail(failure("user '{}': {} is missing", user, has_x_ ? "y" : "x"));
  if (user_rows_ != user_labels_) {
    return fail(failure("user '{}': {} rows of x but {} of y", user, user_rows_, user_labels_));
  }
  file_.owners.insert(file_.owners.end(), user_rows_, static_cast<std::uint32_t>(file_.users.size() - 1));
  counts_.push_back(user_rows_);
  return true;
}

Result<LeafFile> LeafBuilder::finish() && {
  if (!has_users_) return failure("users is missing");
  if (!has_counts_) return failure("num_samples is missing");
  if (!has_data_) return failure("user_data is missing");
  if (listed_counts_.size() != listed_users_.size()) {
    return failure("num_samples has {} entries for {} users", listed_counts_.size(), listed_users_.size());
  }
  std::unordered_set<std::string> seen;
  for (std::size_t i = 0; i < listed_users_.size(); ++i) {
    const auto found = user_ids_.find(listed_users_[i]);
    if (found == user_ids_.end()) return failure("user '{}' is listed but has no user_data", listed_users_[i]);
    if (!seen.insert(listed_users_[i]).second) return failure("users: '{}' comes twice", listed_users_[i]);
    const std::size_t count = counts_[found->second];
    if (listed_counts_[i] != static_cast<double>(count)) {
      return failure("user '{}': num_samples says {}, user_data has {}", listed_users_[i], listed_counts_[i], count);
    }
  }
  for (const std::string& user : file_.users) {
    if (!seen.contains(user)) return failure("user '{}' has user_data but is not listed in users", user);
  }
  return std::move(file_);
}

// One part (train or test) of the set, gathered over its files.
struct Part {
  std::vector<std::uint32_t> clients;
  std::vector<std::int32_t> labels;
  std::vector<std::string> label_texts;
  std::vector<float> numbers;
  std::vector<std::string> texts;
};

// All files of a set have one kind of row and one list of users.
struct Merged {
  Part train;
  Part test;
  std::uint32_t features = 0;
  std::vector<std::string> users;
  std::unordered_map<std::string, std::uint32_t> user_ids;
};

Status append_file(const std::filesystem::path& path, Merged& merged, Part& part) {
  MUSTER_ASSIGN(const std::vector<std::uint8_t> bytes, read_file(path));
  auto parsed = parse_leaf({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  if (!parsed) return std::move(parsed).error().within(path.string());
  const LeafFile& file = *parsed;
  const bool has_texts = !merged.train.texts.empty() || !merged.test.texts.empty();
  if ((has_texts && !file.numbers.empty()) || (merged.features > 0 && !file.texts.empty())) {
    return failure("{}: rows are {}, unlike those of the files before", path.string(),
                   has_texts ? "numbers" : "sentences");
  }
  if (file.features > 0 && merged.features > 0 && file.features != merged.features) {
    return failure("{}: rows of {} numbers, want {} as in the files before", path.string(), file.features,
                   merged.features);
  }
  const bool has_numbered = !merged.train.labels.empty() || !merged.test.labels.empty();
  const bool has_named = !merged.train.label_texts.empty() || !merged.test.label_texts.empty();
  if ((has_named && !file.labels.empty()) || (has_numbered && !file.label_texts.empty())) {
    return failure("{}: labels are {}, unlike those of the files before", path.string(),
                   has_named ? "numbers" : "texts");
  }
  merged.features = std::max(merged.features, file.features);
  std::vector<std::uint32_t> ids;
  for (const std::string& user : file.users) {
    const auto [entry, fresh] = merged.user_ids.emplace(user, static_cast<std::uint32_t>(merged.users.size()));
    if (fresh) merged.users.push_back(user);
    ids.push_back(entry->second);
  }
  for (const std::uint32_t owner : file.owners) part.clients.push_back(ids[owner]);
  part.labels.insert(part.labels.end(), file.labels.begin(), file.labels.end());
  part.label_texts.insert(part.label_texts.end(), file.label_texts.begin(), file.label_texts.end());
  part.numbers.insert(part.numbers.end(), file.numbers.begin(), file.numbers.end());
  part.texts.insert(part.texts.end(), std::make_move_iterator(parsed->texts.begin()),
                    std::make_move_iterator(parsed->texts.end()));
  return {};
}

Result<std::vector<std::filesystem::path>> json_files(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(".json") || name.ends_with(".json.gz")) files.push_back(entry.path());
  }
  if (error) return failure("{}: cannot list the folder: {}", folder.string(), error.message());
  if (files.empty()) return failure("{}: no .json or .json.gz files", folder.string());
  std::sort(files.begin(), files.end());
  return files;
}

Result<Merged> merge_files(const std::filesystem::path& path) {
  Merged merged;
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) {
    MUSTER_TRY(append_file(path, merged, merged.train));
    return merged;
  }
  const bool divided = std::filesystem::is_directory(path / "train", error);
  MUSTER_ASSIGN(const auto train_files, json_files(divided ? path / "train" : path));
  for (const auto& file : train_files) MUSTER_TRY(append_file(file, merged, merged.train));
  if (divided && std::filesystem::is_directory(path / "test", error)) {
    MUSTER_ASSIGN(const auto test_files, json_files(path / "test"));
    for (const auto& file : test_files) MUSTER_TRY(append_file(file, merged, merged.test));
  }
  return merged;
}

// Whether every number is, up to rounding, one of 0/255 .. 255/255.
bool holds_bytes(const std::vector<float>& numbers) {
  return std::all_of(numbers.begin(), numbers.end(), [](float value) {
    const float byte = value * 255.0f;
    return byte > -0.001f && byte < 255.001f && std::abs(byte - std::round(byte)) < 0.001f;
  });
}

Samples number_samples(Part& part, std::uint32_t features, bool as_bytes) {
  Samples samples;
  samples.shape = features == 784 ? Shape{28, 28, 1} : Shape{1, 1, features};
  if (as_bytes) {
    samples.storage = Samples::Storage::kBytes;
    samples.bytes.reserve(part.numbers.size());
    for (const float value : part.numbers) {
      samples.bytes.push_back(static_cast<std::uint8_t>(std::lround(value * 255.0f)));
    }
    part.numbers = {};
  } else {
    samples.floats = std::move(part.numbers);
  }
  return samples;
}

// Texts as ids of tokens, which the network is to embed.
Samples token_samples(const Part& part, const Vocabulary& vocabulary, const TextOptions& options) {
  Samples samples;
  samples.storage = Samples::Storage::kTokens;
  samples.shape = {1, options.length, 1, vocabulary.size()};
  samples.tokens.resize(part.texts.size() * options.length);
  for (std::size_t row = 0; row < part.texts.size(); ++row) {
    vocabulary.encode(part.texts[row], *options.tokens,
                      std::span(samples.tokens).subspan(row * options.length, options.length));
  }
  return samples;
}

Status make_token_samples(const Merged& merged, const TextOptions& options, RawData& data) {
  Vocabulary vocabulary;
  if (options.vocabulary.empty()) {
    vocabulary = Vocabulary::of(merged.train.texts, *options.tokens, options.most_tokens);
  } else {
    MUSTER_ASSIGN(vocabulary, Vocabulary::read(options.vocabulary));
  }
  data.train = token_samples(merged.train, vocabulary, options);
  data.test = token_samples(merged.test, vocabulary, options);
  data.preparation.tokens = options.tokens;
  data.preparation.vocabulary = vocabulary.tokens();
  if (data.preparation.vocabulary.empty()) return {};
  // LEAF's own names: so new rows can come from a table with these columns.
  data.preparation.columns.push_back(PreparedColumn{.name = "x", .kind = PreparedColumn::Kind::kText, .fill = 0.0});
  data.preparation.label = std::string("y");
  data.preparation.client = std::string("user");
  return {};
}

Samples text_samples(const Part& part, const Embedding& embedding, std::shared_ptr<const WordVectors> vectors,
                     std::uint32_t words) {
  Samples samples;
  samples.storage = Samples::Storage::kTokens;
  samples.shape = {1, words, vectors->dimension};
  samples.vectors = std::move(vectors);
  samples.tokens.assign(part.texts.size() * words, 0);
  for (std::size_t row = 0; row < part.texts.size(); ++row) {
    const std::vector<std::string> sentence = leaf_words(part.texts[row]);
    for (std::size_t w = 0; w < std::min<std::size_t>(words, sentence.size()); ++w) {
      const auto found = embedding.ids.find(sentence[w]);
      if (found != embedding.ids.end()) samples.tokens[row * words + w] = found->second;
    }
  }
  return samples;
}

Status make_text_samples(const Merged& merged, const LeafOptions& options, RawData& data) {
  if (options.text.length < 1 || options.text.length > 10000) {
    return usage_error("words: {}, want 1..10000", options.text.length);
  }
  if (options.text.tokens) return make_token_samples(merged, options.text, data);
  if (options.embedding.empty()) {
    return usage_error(
        "the rows are texts: want data.tokens = \"characters\" or \"words\", or data.embedding, a GloVe text file");
  }
  std::unordered_set<std::string> vocabulary;
  for (const Part* part : {&merged.train, &merged.test}) {
    for (const std::string& text : part->texts) {
      for (std::string& word : leaf_words(text)) vocabulary.insert(std::move(word));
    }
  }
  MUSTER_ASSIGN(Embedding embedding, read_glove(options.embedding, vocabulary));
  const auto vectors = std::make_shared<const WordVectors>(std::move(embedding.vectors));
  data.train = text_samples(merged.train, embedding, vectors, options.text.length);
  data.test = text_samples(merged.test, embedding, vectors, options.text.length);
  return {};
}

// Labels that are texts become numbers, in the order of their bytes; all parts count.
void number_labels(Merged& merged, std::vector<std::string>& names) {
  if (merged.train.label_texts.empty()) return;
  Category all{.numbers = {}, .words = std::move(merged.train.label_texts)};
  const std::size_t train = all.words.size();
  std::ranges::move(merged.test.label_texts, std::back_inserter(all.words));
  Categories categories = number_categories(all);
  const auto first_test = categories.ids.begin() + static_cast<std::ptrdiff_t>(train);
  merged.train.labels.assign(categories.ids.begin(), first_test);
  merged.test.labels.assign(first_test, categories.ids.end());
  names = std::move(categories.names);
}

Result<std::uint32_t> count_classes(const Merged& merged, std::uint32_t wanted) {
  std::int32_t largest = 0;
  for (const Part* part : {&merged.train, &merged.test}) {
    for (std::size_t row = 0; row < part->labels.size(); ++row) {
      largest = std::max(largest, part->labels[row]);
      if (wanted > 0 && static_cast<std::uint32_t>(part->labels[row]) >= wanted) {
        return failure("{} row {}: label {}, want 0..{} ({} classes)", part == &merged.train ? "train" : "test", row,
                       part->labels[row], wanted - 1, wanted);
      }
    }
  }
  return wanted > 0 ? wanted : static_cast<std::uint32_t>(largest) + 1;
}

bool is_ascii_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '\'';
}

std::size_t utf8_length(unsigned char first) {
  return first < 0xc0 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

// The code point of one UTF-8 sequence; of a broken one, some number.
std::uint32_t utf8_code(std::string_view sequence) {
  std::uint32_t code = static_cast<unsigned char>(sequence[0]);
  if (sequence.size() > 1) code &= 0xffu >> (sequence.size() + 1);
  for (const char c : sequence.substr(1)) code = code << 6 | (static_cast<unsigned char>(c) & 0x3f);
  return code;
}

// Whether a code point beyond ASCII belongs to words. Lists the blocks of signs, and takes all else for letters.
bool is_letter(std::uint32_t code) {
  constexpr std::pair<std::uint32_t, std::uint32_t> kSigns[] = {
      {0x80, 0xa9},     {0xab, 0xb1},     {0xb4, 0xb4},       {0xb6, 0xb8},       {0xbb, 0xbb},
      {0xbf, 0xbf},     {0xd7, 0xd7},     {0xf7, 0xf7},       {0x2000, 0x206f},   {0x20a0, 0x20ff},
      {0x2190, 0x245f}, {0x2500, 0x2bff}, {0x3000, 0x3004},   {0x3008, 0x3020},   {0xfe00, 0xfe6f},
      {0xff01, 0xff0f}, {0xfffc, 0xffff}, {0x1f000, 0x1f0ff}, {0x1f300, 0x1faff},
  };
  return std::none_of(std::begin(kSigns), std::end(kSigns),
                      [&](const auto& range) { return code >= range.first && code <= range.second; });
}

}  // namespace

Result<LeafFile> parse_leaf(std::string_view json) {
  LeafBuilder builder;
  if (!nlohmann::json::sax_parse(json.begin(), json.end(), &builder)) return builder.take_error();
  return std::move(builder).finish();
}

std::vector<std::string> leaf_words(std::string_view text) {
  std::vector<std::string> words;
  bool open = false;
  while (!text.empty()) {
    const auto first = static_cast<unsigned char>(text[0]);
    const std::size_t length = std::min<std::size_t>(utf8_length(first), text.size());
    if (first < 0x80 ? is_ascii_letter(text[0]) : is_letter(utf8_code(text.substr(0, length)))) {
      if (!open) words.emplace_back();
      for (const char c : text.substr(0, length)) {
        words.back().push_back(c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c);
      }
      open = true;
    } else {
      open = false;
      if (std::string_view(".,!?;").find(text[0]) != std::string_view::npos) words.emplace_back(1, text[0]);
    }
    text.remove_prefix(length);
  }
  return words;
}

Result<RawData> read_leaf(const std::filesystem::path& path, const LeafOptions& options) {
  MUSTER_ASSIGN(Merged merged, merge_files(path));
  RawData data;
  number_labels(merged, data.class_names);
  if (merged.train.labels.empty()) return failure("{}: no training samples", path.string());
  auto classes = count_classes(merged, options.classes);
  if (!classes) return std::move(classes).error().within(path.string());

  if (merged.features > 0) {
    const bool as_bytes =
        merged.features == 784 && holds_bytes(merged.train.numbers) && holds_bytes(merged.test.numbers);
    data.train = number_samples(merged.train, merged.features, as_bytes);
    data.test = number_samples(merged.test, merged.features, as_bytes);
  } else {
    MUSTER_TRY(make_text_samples(merged, options, data));
  }
  data.train.labels = std::move(merged.train.labels);
  data.test.labels = std::move(merged.test.labels);
  data.train.classes = data.test.classes = *classes;
  data.train_clients = std::move(merged.train.clients);
  data.test_clients = std::move(merged.test.clients);
  data.client_names = std::move(merged.users);
  return data;
}

}  // namespace muster
