#include <algorithm>

#include "data/error_text.h"
#include "data/readers/glove.h"
#include "data/readers/leaf.h"
#include "scratch_folder.h"

namespace muster {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string leaf_error(std::string_view json) {
  return error_of(parse_leaf(json));
}
std::string glove_error(std::string_view text) {
  return error_of(parse_glove(text, {}));
}

constexpr std::string_view kNumbers = R"({
  "users": ["ann", "bob"], "num_samples": [2, 1], "hierarchies": [{"x": [1]}], "note": null,
  "user_data": {"ann": {"x": [[0.5, 1], [2, 3]], "y": [0, 2]}, "bob": {"y": [1], "more": {"x": 1}, "x": [[4, 5]]}}})";

TEST(LeafReader, ReadsRowsOfNumbers) {
  auto file = parse_leaf(kNumbers);
  ASSERT_TRUE(file) << error_of(file);
  EXPECT_THAT(file->users, ElementsAre("ann", "bob"));
  EXPECT_THAT(file->owners, ElementsAre(0, 0, 1));
  EXPECT_THAT(file->labels, ElementsAre(0, 2, 1));
  EXPECT_EQ(file->features, 2u);
  EXPECT_THAT(file->numbers, ElementsAre(0.5f, 1, 2, 3, 4, 5));
}

TEST(LeafReader, ReadsSentences) {
  auto file = parse_leaf(R"({"users": ["u"], "num_samples": [2], "user_data": {"u": {
      "x": [["1", "Mon", "NO_QUERY", "u", "Hello there!", "training"], "plain text"], "y": [1, 0]}}})");
  ASSERT_TRUE(file) << error_of(file);
  EXPECT_THAT(file->texts, ElementsAre("Hello there!", "plain text"));
  EXPECT_THAT(file->numbers, IsEmpty());
}

TEST(LeafReader, RefusesWhatContradictsItself) {
  const auto with = [](std::string_view users, std::string_view counts, std::string_view user_data) {
    return leaf_error(fmt::format(R"({{"users": {}, "num_samples": {}, "user_data": {}}})", users, counts, user_data));
  };
  constexpr std::string_view kOne = R"({"a": {"x": [[1]], "y": [0]}})";
  EXPECT_EQ(with(R"(["a"])", "[1]", kOne), "no error");
  EXPECT_THAT(with(R"(["a"])", "[2]", kOne), HasSubstr("user 'a': num_samples says 2, user_data has 1"));
  EXPECT_THAT(with(R"(["a"])", "[1, 1]", kOne), HasSubstr("num_samples has 2 entries for 1 users"));
  EXPECT_THAT(with(R"(["a", "b"])", "[1, 1]", kOne), HasSubstr("user 'b' is listed but has no user_data"));
  EXPECT_THAT(with(R"(["a", "a"])", "[1, 1]", kOne), HasSubstr("'a' comes twice"));
  EXPECT_THAT(with("[]", "[]", kOne), HasSubstr("user 'a' has user_data but is not listed"));
  EXPECT_THAT(with(R"(["a"])", "[1]", R"({"a": {"x": [[1]], "y": [0, 1]}})"), HasSubstr("1 rows of x but 2 of y"));
  EXPECT_THAT(with(R"(["a"])", "[1]", R"({"a": {"x": [[1]]}})"), HasSubstr("y is missing"));
  EXPECT_THAT(with(R"(["a"])", "[1]", R"({"a": {"y": [1]}})"), HasSubstr("x is missing"));
  EXPECT_THAT(with(R"(["a"])", "[2]", R"({"a": {"x": [[1], [1, 2]], "y": [0, 1]}})"),
              HasSubstr("x: row 1: 2 numbers, want 1"));
  EXPECT_THAT(with(R"(["a"])", "[1]", R"({"a": {"x": [[]], "y": [0]}})"), HasSubstr("x: row 0: is empty"));
  EXPECT_THAT(with(R"(["a"])", "[1]", R"({"a": {"x": [["t"]], "y": [0]}})"), HasSubstr("want numbers only"));
  EXPECT_THAT(with(R"(["a"])", "[2]", R"({"a": {"x": [[1], "t"], "y": [0, 0]}})"), HasSubstr("other rows are numbers"));
  EXPECT_THAT(with(R"(["a"])", "[2]", R"({"a": {"x": ["t", [1]], "y": [0, 0]}})"),
              HasSubstr("other rows are sentences"));
  EXPECT_THAT(with(R"(["a"])", "[1]", R"({"a": {"x": [[[1]]], "y": [0]}})"), HasSubstr("unexpected array"));
  EXPECT_THAT(with(R"(["a"])", "[1]", R"({"a": {"x": [[1e300]], "y": [0]}})"), HasSubstr("too large a number"));
  EXPECT_THAT(with(R"(["a"])", "[1]", R"({"a": {"x": [[null]], "y": [0]}})"), HasSubstr("unexpected null"));
  EXPECT_THAT(with(R"(["a"])", "[1]", R"({"a": {"x": [[1]], "y": [-1]}})"), HasSubstr("label -1"));
  EXPECT_THAT(with(R"(["a"])", "[1]", R"({"a": {"x": [[1]], "y": [0.5]}})"), HasSubstr("label 0.5"));
  EXPECT_THAT(with(R"(["a"])", "[2]", R"({"a": {"x": [[1], [2]], "y": ["0", 0]}})"),
              HasSubstr("other labels are texts"));
  EXPECT_THAT(with(R"(["a"])", "[2]", R"({"a": {"x": [[1], [2]], "y": [0, "0"]}})"),
              HasSubstr("other labels are numbers"));
  EXPECT_THAT(with(R"(["a"])", "[1]", R"({"a": {"x": {}, "y": [0]}})"), HasSubstr("x: want an array"));
  EXPECT_THAT(with(R"(["a"])", "[1]", R"({"a": [1]})"), HasSubstr("user_data: unexpected array"));
  EXPECT_THAT(with(R"(["a"])", "[1]", R"({"a": {"x": [[1]], "y": [0]}, "a": {"x": [[1]], "y": [0]}})"),
              HasSubstr("user 'a' comes twice"));
}

TEST(LeafReader, RefusesBrokenJson) {
  EXPECT_THAT(leaf_error(""), HasSubstr("broken JSON"));
  EXPECT_THAT(leaf_error("[1]"), HasSubstr("unexpected array"));
  EXPECT_THAT(leaf_error("3"), HasSubstr("unexpected a number"));
  EXPECT_THAT(leaf_error("{}"), HasSubstr("users is missing"));
  EXPECT_THAT(leaf_error(kNumbers.substr(0, 150)), HasSubstr("broken JSON"));
  EXPECT_THAT(leaf_error(R"({"users": [], "num_samples": []})"), HasSubstr("user_data is missing"));
  EXPECT_THAT(leaf_error(R"({"users": [], "users": []})"), HasSubstr("users comes twice"));
  EXPECT_THAT(leaf_error(R"({"users": {}})"), HasSubstr("users: want an array"));
  EXPECT_THAT(leaf_error(std::string(100000, '[')), HasSubstr("unexpected array"));
}

TEST(LeafReader, TakesWordsAsLeafDoes) {
  EXPECT_THAT(leaf_words("I'm SO happy!! :) @bob_7, see http://x.y; ok?"),
              ElementsAre("i'm", "so", "happy", "!", "!", "bob_7", ",", "see", "http", "x", ".", "y", ";", "ok", "?"));
  EXPECT_THAT(leaf_words(" #-* "), IsEmpty());
  EXPECT_THAT(leaf_words("\u201cCaf\u00e9\u201d \u00bfqu\u00e9? ana\u2026az \U0001f600"),
              ElementsAre("caf\u00e9", "qu\u00e9", "?", "ana", "az"));
  EXPECT_THAT(leaf_words("a\xf0"), testing::SizeIs(1)) << "a torn sequence at the end";
}

TEST(GloveReader, KeepsWantedWordsInFileOrder) {
  auto embedding = parse_glove("the 1 2\r\ncat -0.5 3e-1\nunused 7 7\nthe 9 9\n", {"cat", "the", "dog"});
  ASSERT_TRUE(embedding) << error_of(embedding);
  EXPECT_EQ(embedding->vectors.dimension, 2u);
  EXPECT_THAT(embedding->vectors.rows, ElementsAre(0, 0, 1, 2, -0.5f, 0.3f));
  EXPECT_EQ(embedding->ids.at("the"), 1u);
  EXPECT_EQ(embedding->ids.at("cat"), 2u);
  EXPECT_EQ(embedding->ids.size(), 2u);
}

TEST(GloveReader, ErrorsNameTheLine) {
  EXPECT_THAT(glove_error("a 1 2\nb 1\n"), HasSubstr("line 2: 1 numbers, want 2 as on line 1"));
  EXPECT_THAT(glove_error("a 1 2\nb 1 nan\n"), HasSubstr("line 2: nan, want a finite number"));
  EXPECT_THAT(glove_error("a 1 2\nb 1 two\n"), HasSubstr("line 2: 'two' is not a number"));
  EXPECT_THAT(glove_error("a 1e99\n"), HasSubstr("line 1"));
  EXPECT_THAT(glove_error("a 1 2\n\nb 1 2\n"), HasSubstr("line 2: want a word"));
  EXPECT_THAT(glove_error("a\n"), HasSubstr("line 1: want a word"));
  EXPECT_THAT(glove_error("a 1  2\n"), HasSubstr("line 1: '' is not a number"));
  EXPECT_THAT(glove_error(""), HasSubstr("no word vectors"));
}

std::string one_user(const std::string& user, const std::string& rows, const std::string& labels, int count) {
  return fmt::format(R"({{"users": ["{0}"], "num_samples": [{3}], "user_data": {{"{0}": {{"x": {1}, "y": {2}}}}}}})",
                     user, rows, labels, count);
}

TEST(LeafReader, MergesTheFilesOfAFolder) {
  const ScratchFolder folder;
  folder.write("train/b.json", one_user("ann", "[[3]]", "[2]", 1));
  folder.write("train/a.json", one_user("bob", "[[1], [2]]", "[0, 1]", 2));
  folder.write("train/readme.txt", std::string("no"));
  folder.write("test/a.json", one_user("ann", "[[4]]", "[3]", 1));
  auto data = read_leaf(folder.path(), {});
  ASSERT_TRUE(data) << error_of(data);
  EXPECT_THAT(data->client_names, ElementsAre("bob", "ann"));
  EXPECT_THAT(data->train_clients, ElementsAre(0, 0, 1));
  EXPECT_THAT(data->train.floats, ElementsAre(1, 2, 3));
  EXPECT_THAT(data->test_clients, ElementsAre(1));
  EXPECT_EQ(data->train.classes, 4u);
  EXPECT_THAT(error_of(read_leaf(folder.path(), {.classes = 3})),
              HasSubstr("test row 0: label 3, want 0..2 (3 classes)"));
  folder.write("test/b.json", one_user("cy", "[[4, 5]]", "[3]", 1));
  EXPECT_THAT(error_of(read_leaf(folder.path(), {})), HasSubstr("b.json: rows of 2 numbers, want 1"));
  folder.write("test/b.json", one_user("cy", "[\"text\"]", "[3]", 1));
  EXPECT_THAT(error_of(read_leaf(folder.path(), {})), HasSubstr("b.json: rows are sentences"));
  EXPECT_THAT(error_of(read_leaf(folder.path() / "none", {})), HasSubstr("none"));
}

TEST(LeafReader, PicturesOfFemnistBecomeBytes) {
  std::string row = "[";
  for (int i = 0; i < 784; ++i) row += fmt::format("{}{:.10f}", i > 0 ? "," : "", (i % 256) / 255.0);
  const ScratchFolder folder;
  const auto path = folder.write("femnist.json", one_user("w", "[" + row + "]]", "[61]", 1));
  auto data = read_leaf(path, {});
  ASSERT_TRUE(data) << error_of(data);
  EXPECT_EQ(data->train.storage, Samples::Storage::kBytes);
  EXPECT_EQ(data->train.shape, (Shape{28, 28, 1}));
  EXPECT_EQ(data->train.bytes[255], 255);
  EXPECT_EQ(data->train.bytes[257], 1);
  EXPECT_EQ(data->train.classes, 62u);
  row.replace(row.find("0.0039"), 6, "0.0059");
  folder.write("femnist.json", one_user("w", "[" + row + "]]", "[61]", 1));
  data = read_leaf(path, {});
  ASSERT_TRUE(data) << error_of(data);
  EXPECT_EQ(data->train.storage, Samples::Storage::kFloats);
}

TEST(LeafReader, SentencesBecomeTokens) {
  const ScratchFolder folder;
  const auto path =
      folder.write("s.json", one_user("u", R"(["Cat sat, zzz", "sat sat sat sat sat sat"])", "[1, 0]", 2));
  EXPECT_THAT(error_of(read_leaf(path, {})), HasSubstr("want data.tokens"));
  const auto glove = folder.write("glove.txt", std::string("sat 1 2\ncat 3 4\n, 5 6\n"));
  auto data = read_leaf(path, {.embedding = glove, .text = {.length = 5}});
  ASSERT_TRUE(data) << error_of(data);
  EXPECT_EQ(data->train.shape, (Shape{1, 5, 2}));
  EXPECT_THAT(data->train.tokens, ElementsAre(2, 1, 3, 0, 0, 1, 1, 1, 1, 1));
  EXPECT_THAT(error_of(read_leaf(path, {.embedding = glove, .text = {.length = 0}})), HasSubstr("words: 0, want 1"));
  EXPECT_THAT(error_of(read_leaf(path, {.embedding = folder.path() / "no.txt"})), HasSubstr("no.txt"));
}

TEST(LeafReaderRealData, Sent140) {
  const std::filesystem::path folder = MUSTER_SOURCE_DIR "/../shared/data/sent140";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "Sent140 is not at " << folder;
  auto data = read_leaf(folder / "all_data_niid_0_keep_30_test_9.json.gz",
                        {.classes = 2, .embedding = folder / "glove.6B.100d.sent140-vocab.txt.gz"});
  ASSERT_TRUE(data) << error_of(data);
  EXPECT_EQ(data->client_names.size(), 2875u);
  EXPECT_EQ(data->train.size(), 16025u);
  EXPECT_EQ(std::count(data->train.labels.begin(), data->train.labels.end(), 1), 9717);
  EXPECT_EQ(data->train.shape, (Shape{1, 25, 100}));
  // The file of vectors holds exactly the words that LEAF's way of splitting finds in these tweets.
  EXPECT_EQ(data->train.vectors->rows.size(), (12551u + 1) * 100);
}

// As LEAF's Shakespeare has it: x is a piece of text, y the character that follows.
constexpr std::string_view kPlay = R"({"users": ["HAMLET", "OPHELIA"], "num_samples": [2, 1], "user_data": {
  "HAMLET": {"x": ["to be, or ", "not to be\n"], "y": ["n", "t"]}, "OPHELIA": {"x": ["good my"], "y": ["n"]}}})";

TEST(LeafReader, ReadsCharactersAndTheOneThatFollows) {
  const ScratchFolder folder;
  const auto path = folder.write("play.json", kPlay);
  const auto data = read_leaf(path, {.text = {.tokens = TokenKind::kCharacters, .length = 8}});
  ASSERT_TRUE(data) << error_of(data);
  EXPECT_THAT(data->class_names, ElementsAre("n", "t"));
  EXPECT_THAT(data->train.labels, ElementsAre(0, 1, 0));
  EXPECT_EQ(data->train.classes, 2u);
  EXPECT_THAT(data->client_names, ElementsAre("HAMLET", "OPHELIA"));
  const std::vector<std::string>& known = data->preparation.vocabulary;
  EXPECT_THAT(known, testing::Contains("\n"));
  EXPECT_EQ(known[0] + known[1], " o") << "the most frequent ones";
  EXPECT_EQ(data->train.shape, (Shape{1, 8, 1, static_cast<std::uint32_t>(known.size()) + 2}));
  const auto character = [&](std::size_t row, std::size_t at) {
    const std::uint32_t id = data->train.tokens[row * 8 + at];
    return id == Vocabulary::kPadding ? std::string("padding") : known[id - 2];
  };
  EXPECT_EQ(character(0, 0), "t");
  EXPECT_EQ(character(0, 7), "o") << "longer texts are cut";
  EXPECT_EQ(character(2, 6), "y");
  EXPECT_EQ(character(2, 7), "padding");

  std::vector<float> row(8);
  std::int32_t label = -1;
  const std::vector<std::uint32_t> rows{0, 1, 2};
  const std::uint32_t position = 2;
  gather({&data->train, rows, 0}, {&position, 1}, {}, nullptr, row.data(), &label);
  EXPECT_EQ(label, 0);
  EXPECT_EQ(row[1], static_cast<float>(data->train.tokens[2 * 8 + 1]));
  EXPECT_EQ(row[7], 0.0f);
}

TEST(LeafReader, TakesAVocabularyThatIsGiven) {
  const ScratchFolder folder;
  const auto path = folder.write("play.json", kPlay);
  const auto words = folder.write("words.txt", std::string("to\nbe\n"));
  const auto data = read_leaf(path, {.text = {.tokens = TokenKind::kWords, .length = 4, .vocabulary = words}});
  ASSERT_TRUE(data) << error_of(data);
  EXPECT_THAT(data->preparation.vocabulary, ElementsAre("to", "be"));
  EXPECT_THAT(data->train.tokens, ElementsAre(2, 3, 1, 1, /**/ 1, 2, 3, 0, /**/ 1, 1, 0, 0));
  EXPECT_THAT(error_of(read_leaf(path, {.text = {.tokens = TokenKind::kWords, .vocabulary = folder / "none"}})),
              HasSubstr("none"));
}

}  // namespace
}  // namespace muster
