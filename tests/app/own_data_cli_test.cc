// From a file to predictions in two commands, with tables nobody prepared for Muster: five of them, as different as
// spreadsheets, databases and instruments write them.
#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "base/random.h"
#include "command_line.h"
#include "record/protobuf_fields.h"

namespace muster {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// A file, the same file with the rows of split = test alone, and what a user says about it.
struct OwnTable {
  std::string name;
  std::string content;
  std::string test_content;
  std::size_t rows = 0;
  std::string label;
  std::string client;
  Words settings;
};

// Rows as text, every fifth of them for testing.
class TableText {
 public:
  TableText(std::string name, const std::string& header)
      : table_{.name = std::move(name)}, random_(Stream({.seed = 5})) {
    table_.content = table_.test_content = header;
  }
  double normal() { return random_.normal(); }
  bool chance(double p) { return random_.uniform() < p; }
  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(random_.below(n)); }
  bool next_is_test() const { return table_.rows % 5 == 4; }
  void add(const std::string& row) {
    if (next_is_test()) table_.test_content += row;
    table_.content += row;
    ++table_.rows;
  }
  OwnTable with(std::string label, std::string client, Words settings = {}) {
    table_.label = std::move(label);
    table_.client = std::move(client);
    table_.settings = std::move(settings);
    return table_;
  }

 private:
  OwnTable table_;
  Stream random_;
};

std::string with_comma(double value) {
  std::string text = fmt::format("{:.2f}", value);
  std::ranges::replace(text, '.', ',');
  return text;
}

// UTF-16, little-endian, with its mark, of text below U+10000.
std::string utf16(const std::string& utf8) {
  std::string out = "\xff\xfe";
  for (std::size_t i = 0; i < utf8.size();) {
    const auto byte = [&](std::size_t k) { return static_cast<unsigned char>(utf8[i + k]); };
    const std::size_t length = byte(0) < 0x80 ? 1 : byte(0) < 0xe0 ? 2 : 3;
    const unsigned code = length == 1   ? byte(0)
                          : length == 2 ? (byte(0) & 0x1fu) << 6 | (byte(1) & 0x3fu)
                                        : (byte(0) & 0xfu) << 12 | (byte(1) & 0x3fu) << 6 | (byte(2) & 0x3fu);
    out += static_cast<char>(code & 0xff);
    out += static_cast<char>(code >> 8);
    i += length;
  }
  return out;
}

// A German spreadsheet: semicolons, decimal commas, Windows-1252, CRLF, holes, seven clinics of 10 to 5,000 rows.
OwnTable clinics() {
  TableText text("clinics.csv", "Alter;Puls;Temperatur;Gewicht (kg);Klinik;Befund;Teil\r\n");
  const std::vector<std::pair<std::string, int>> sites = {{"K\xf6ln", 5000}, {"Z\xfcrich", 2500}, {"Lyon", 1200},
                                                          {"Malm\xf6", 600}, {"Brno", 200},       {"Graz", 40},
                                                          {"Bern", 10}};
  for (const auto& [site, rows] : sites) {
    for (int i = 0; i < rows; ++i) {
      const double age = text.normal(), pulse = text.normal(), heat = text.normal(), weight = text.normal();
      Words cells = {with_comma(50 + 15 * age), with_comma(70 + 9 * pulse), with_comma(36.8 + heat),
                     with_comma(75 + 12 * weight)};
      if (text.chance(0.05)) cells[text.below(4)] = Words{"", "NA", "?", "null"}[text.below(4)];
      const char* finding = age + pulse > 0.5 * heat ? "auff\xe4llig" : "ohne Befund";
      text.add(fmt::format("{};{};{};{};{};{};{}\r\n", cells[0], cells[1], cells[2], cells[3], site, finding,
                           text.next_is_test() ? "test" : "train"));
    }
  }
  return text.with("Befund", "Klinik", {"data.split=Teil", "data.missing=mean"});
}

// A shop's export: twelve classes, three columns of text, cells with delimiters, quotes and line ends inside.
OwnTable tickets() {
  TableText text("tickets.csv",
                 "\"branch\",\"product\",\"colour\",\"where, when\",\"weight, kg\",\"kind\",\"split\"\n");
  for (int i = 0; i < 3000; ++i) {
    const std::uint32_t kind = text.below(12);
    const std::string product = text.chance(0.02) ? "lamp" : Words{"lamp", "chair", "table \"\"long\"\""}[kind % 3];
    text.add(fmt::format("\"branch {}\",\"{}\",\"{}\",\"{}\",{:.3f},\"kind\n{}\",{}\n", i % 7, product,
                         kind / 3 % 2 ? "red" : "dark\nblue", kind / 6 ? "here, now" : "there, then",
                         kind + 0.3 * text.normal(), static_cast<char>('A' + kind), text.next_is_test() ? 1 : 0));
  }
  return text.with("kind", "branch");
}

// An instrument's log: UTF-16 and tabs, ids, a column of times.
OwnTable sensors() {
  TableText text("sensors.txt", "nr\ttime\tx\ty\tz\tmachine\tstate\tsplit\n");
  for (int i = 0; i < 3000; ++i) {
    const double x = text.normal(), y = text.normal(), z = text.normal();
    const char* state = x < 0 ? "läuft" : y < 0 ? "steht" : "⚠ Störung";
    text.add(fmt::format("{}\t2024-03-{:02} 12:{:02}:00\t{:.4f}\t{:.4f}\t{:.3e}\tM-{}\t{}\t{}\n", 100000 + i,
                         1 + i % 28, i % 60, x, y, 1e6 * z, 1 + i % 6, state, text.next_is_test() ? "test" : "train"));
  }
  OwnTable table = text.with("state", "machine", {"data.drop=[\"nr\", \"time\"]"});
  table.content = utf16(table.content);
  table.test_content = utf16(table.test_content);
  return table;
}

// A database's dump: bars, classes called 0 and 1, sites of one letter, a grade that is "unknown".
OwnTable loans() {
  TableText text("loans.csv", "income|debt|region|grade|defaulted|split\n");
  for (int i = 0; i < 3000; ++i) {
    const double income = text.normal(), debt = text.normal();
    text.add(fmt::format(
        "{:.0f}|{:.0f}|{}|{}|{}|{}\n", std::exp(10 + 0.5 * income), std::exp(8 + 0.5 * debt), "NSEW" [i % 4],
        Words { "A", "B", "C", "unknown" }[text.below(4)], debt - income + 0.2 * text.normal() > 0 ? 1 : 0,
        text.next_is_test() ? 1 : 0));
  }
  return text.with("defaulted", "region");
}

// A data frame: a mark at its head, an index without a name, empty lines, a category of numbers, yes and no.
OwnTable frame() {
  TableText text("frame.csv", "\xef\xbb\xbf,postcode,floor area,heated,sold,agent,split\n\n");
  for (int i = 0; i < 3000; ++i) {
    const std::uint32_t place = text.below(12);
    const double area = text.normal();
    text.add(fmt::format("{},{},{:.1f},{},{},{},{}\n", i, 1000 + 7 * place, 90 + 30 * area,
                         text.chance(0.5) ? "yes" : "no", area + (place % 2 ? 1.0 : -1.0) > 0 ? "quickly" : "slowly",
                         Words{"Ann & Co", "O'Neil", "=SUM(A1)", "-"}[i % 4], text.next_is_test() ? "test" : "train"));
  }
  return text.with("sold", "agent", {"data.categorical=[\"postcode\"]"});
}

class OwnData : public CommandLineTest {
 protected:
  std::string runs() const { return (scratch_.path() / "runs").string(); }
  nlohmann::json run(const OwnTable& table, const std::string& path) const {
    Words words{"run",      "fedavg",
                "--rounds", "20",
                "--quiet",  "--json",
                "--out",    runs(),
                "--set",    "data.source=csv",
                "--set",    "data.path=" + path,
                "--set",    "data.label=" + table.label,
                "--set",    "data.client=" + table.client};
    for (const std::string& setting : table.settings) words.insert(words.end(), {"--set", setting});
    const Finished finished = muster(words);
    EXPECT_EQ(finished.status, 0) << finished.err;
    return nlohmann::json::parse(finished.out, nullptr, false);
  }
  nlohmann::json predict(const nlohmann::json& run, const std::string& path, const std::string& out) const {
    const Finished finished =
        muster({"predict", run["dir"].get<std::string>(), "--data", path, "--out", out, "--quiet", "--json"});
    EXPECT_EQ(finished.status, 0) << finished.err;
    return nlohmann::json::parse(finished.out, nullptr, false);
  }
};

// Records of a table, whose cells may hold line ends, without the header.
std::size_t records(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  std::size_t ends = 0;
  bool quoted = false;
  for (const char c : text) {
    if (c == '"') quoted = !quoted;
    ends += c == '\n' && !quoted ? 1 : 0;
  }
  return ends - 1;
}

// 300 rows of five sites whose label is told by two numbers.
std::string small_table(const std::string& header = "a,b,site,y", bool one_class = false) {
  TableText text("", header + "\n");
  for (int i = 0; i < 300; ++i) {
    const double a = text.normal(), b = text.normal();
    text.add(fmt::format("{:.3f},{:.3f},s{},{}\n", a, b, i % 5, one_class || a > b ? "yes" : "no"));
  }
  return text.with("y", "site").content;
}

Words run_words(const std::string& recipe, const std::string& path, const Words& more) {
  Words words{"run",   recipe,        "--rounds", "2", "--set", "data.source=csv", "--set", "data.path=" + path,
              "--set", "data.label=y"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

TEST_F(OwnData, WrongInputIsOneLineThatSaysWhatToDo) {
  const std::string table = file("t.csv", small_table());
  const std::string out = (scratch_.path() / "runs").string();
  const auto refuse = [&](const std::string& path, const Words& more, const std::string& message) {
    Words words = run_words("fedavg", path, {"--quiet", "--out", out});
    words.insert(words.end(), more.begin(), more.end());
    expect_error(words, 2, HasSubstr(message));
  };
  refuse(table, {"--set", "data.client=Site"}, "no column 'Site' (did you mean 'site'?), there are a, b, site, y");
  refuse(table, {"--set", "data.drop=[\"c\"]"}, "data.drop: no column 'c', there are a, b, site, y");
  refuse(table, {"--set", "data.client=y"}, "data.label and data.client name the same column, 'y'");
  refuse(file("one.csv", small_table("a,b,site,y", true)), {"--set", "data.client=site"},
         "all samples are of one class, want at least 2; is data.label = \"y\" the right column?");
  expect_error({"run", table}, 2, HasSubstr("a table, not a recipe; to train on it: muster run fedavg --set"));
  expect_error({"run", "fedavg", "--quiet", "--set", "data.path=" + table}, 2, HasSubstr("want data.source = \"csv\""));
  expect_error({"predict", "x", "--data", table, "--group", "1", "--client", "s1"}, 2,
               HasSubstr("--group: does not go with --client"));
  expect_error({"predict", "x"}, 2, HasSubstr("`muster predict --help`"));
}

TEST_F(OwnData, NumbersOfTheRecipeThatTheSitesCannotFillAreLowered) {
  const std::string table = file("t.csv", small_table());
  const Finished told = muster(run_words("fedgroup", table, {"--set", "data.client=site", "--dry-run"}));
  EXPECT_EQ(told.status, 0) << told.err;
  EXPECT_THAT(told.out, AllOf(HasSubstr(": 5 clients tell their update-direction"), HasSubstr("5 clients are sampled"),
                              HasSubstr("as many models as there will be groups"),
                              HasSubstr("plan.sample-clients: 5 instead of the recipe's 0.2, for 5 clients"),
                              HasSubstr("profile.clients: 5 instead of the recipe's 60, for 5 clients")));
  const Finished asked = muster(
      run_words("fedavg", table, {"--set", "data.client=site", "--set", "plan.sample-clients=9", "--out", runs()}));
  EXPECT_THAT(asked.err, AllOf(HasSubstr("plan.sample-clients: 9, but there are 5 clients: all take part"),
                               HasSubstr("does not fit rows of 2 features")));
}

TEST_F(OwnData, SaysWhyThereIsNoTest) {
  const Finished two = muster(run_words("fedavg", file("two.csv", "a,client,y\n1,s,no\n2,t,yes\n"), {"--out", runs()}));
  EXPECT_EQ(two.status, 0) << two.err;
  EXPECT_THAT(two.err, HasSubstr("no client has more than one row, which is for training"));
  const std::string table = file("t.csv", small_table());
  const Finished thin = muster(run_words("fedavg", table, {"--out", runs()}));
  EXPECT_THAT(thin.err, HasSubstr("a test of 10 %: the most are 3; data.test-fraction = 0.17 gives it one"));
  EXPECT_THAT(muster(run_words("fedavg", table, {"--set", "data.test-fraction=0.17", "--out", runs()})).err,
              HasSubstr("100 clients, 200 train, 100 test"));
  const Finished few = muster(run_words("fedseq", table, {"--set", "data.client=site", "--dry-run"}));
  EXPECT_THAT(few.out, HasSubstr("20 of 30 test rows are the server's exemplars (data.exemplars =\n"));
}

TEST_F(OwnData, OneOfAKindIsSaidInTheSingular) {
  std::string rows = small_table();
  for (std::size_t at = 0; (at = rows.find(",s", at)) != std::string::npos; ++at) {
    if (rows[at + 2] >= '0' && rows[at + 2] <= '9') rows[at + 2] = '0';
  }
  const OwnTable table{.label = "y", .client = "site"};
  const std::string path = file("t.csv", rows);
  const Finished told = muster(run_words("fedavg", path, {"--set", "data.client=site", "--out", runs()}));
  EXPECT_THAT(told.err, HasSubstr("csv, natural, 1 client, 270 train"));
  EXPECT_THAT(told.out, HasSubstr(": 1 client, all 2 rounds done"));
  const std::string dir = run(table, path)["dir"];
  const Finished one = muster(
      {"predict", dir, "--data", file("r.csv", "extra,a,b\n7,1,2\n"), "--out", (scratch_.path() / "p.csv").string()});
  EXPECT_THAT(one.out, testing::StartsWith("1 row: "));
  EXPECT_EQ(one.err, "muster: note: 'extra' is not used: the model was not trained with it\n");
}

std::string content_of(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Field -> kinds of files that have it.
using ExportedFields = std::map<std::string, std::set<std::string>>;

// The table of docs/files.md below "Exported weights".
ExportedFields documented_exports() {
  std::istringstream in(content_of(std::filesystem::path(MUSTER_SOURCE_DIR) / "docs/files.md"));
  ExportedFields fields;
  bool here = false;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("## ")) here = line == "## Exported weights";
    if (!here || !line.starts_with("| `")) continue;
    const std::string name = line.substr(3, line.find('`', 3) - 3);
    const std::size_t begin = line.find(" | ") + 3;
    std::istringstream kinds(line.substr(begin, line.find(" | ", begin) - begin));
    for (std::string kind; std::getline(kinds >> std::ws, kind, ',');) fields[name].insert(kind);
  }
  return fields;
}

// Names of the members of a zip file that are no arrays, without ".json".
std::vector<std::string> texts_of_npz(const std::string& bytes) {
  std::vector<std::string> names;
  for (std::size_t at = 0; (at = bytes.find("PK\1\2", at)) != std::string::npos; at += 46) {
    std::string name = bytes.substr(at + 46, static_cast<unsigned char>(bytes[at + 28]));
    if (!name.ends_with(".npy")) names.push_back(name.substr(0, name.find(".json")));
  }
  return names;
}

TEST_F(OwnData, ExportedFilesHoldWhatTheDocumentationSays) {
  const std::string path = file("t.csv", small_table());
  const std::string dir = run({.label = "y", .client = "site"}, path)["dir"];
  const auto exported = [&](const std::string& name, Words layout) {
    const std::string to = (scratch_.path() / name).string();
    Words words{"export", dir, "--to", to};
    words.insert(words.end(), layout.begin(), layout.end());
    EXPECT_EQ(muster(words).status, 0);
    return content_of(to);
  };
  ExportedFields written;
  const std::string tensors = exported("m.safetensors", {"--layout", "torch"});
  std::uint64_t length = 0;
  ASSERT_GT(tensors.size(), sizeof length);
  std::memcpy(&length, tensors.data(), sizeof length);
  const auto header = nlohmann::json::parse(tensors.substr(sizeof length, length));
  for (const auto& [name, text] : header["__metadata__"].items()) written[name].insert("safetensors");
  for (const std::string& name : texts_of_npz(exported("m.npz", {"--layout", "torch"}))) written[name].insert("npz");
  constexpr std::uint64_t kMetadata = 14;  // of ONNX's ModelProto
  for (const ProtobufField& field : protobuf_fields(exported("m.onnx", {}))) {
    if (field.number != kMetadata) continue;
    written[protobuf_fields(field.bytes).front().bytes].insert("onnx");
  }
  EXPECT_EQ(written, documented_exports());
}

// Which of two words begins a text is the label; the words are far apart, and the texts of any length.
OwnTable reviews() {
  TableText text("reviews.csv", "review;shop;mood;split\n");
  for (int i = 0; i < 600; ++i) {
    const bool good = text.chance(0.5);
    text.add(fmt::format("\"{} {};\n\"\"{}\"\"\";{};{};{}\n", good ? "Fine" : "Poor",
                         Words{"tea", "cup", "pot"}[text.below(3)], Words{"so so", "hm", "well well"}[text.below(3)],
                         Words{"north", "south"}[text.below(2)], good ? "glad" : "sad",
                         text.next_is_test() ? "test" : "train"));
  }
  return text.with("mood", "shop",
                   {"data.text=review", "data.tokens=words", "data.words=4", "local.learning-rate=0.5"});
}

TEST_F(OwnData, AColumnOfTextIsCutIntoTokens) {
  const OwnTable table = reviews();
  const std::string path = file(table.name, table.content);
  const nlohmann::json trained = run(table, path);
  ASSERT_TRUE(trained.is_object());
  EXPECT_GT(trained["accuracy"]["last"], 0.9);
  const std::string out = (scratch_.path() / "predicted.csv").string();
  EXPECT_EQ(predict(trained, path, out)["rows"], table.rows);
  EXPECT_EQ(records(out), table.rows);
  EXPECT_EQ(predict(trained, file("test.csv", table.test_content), out)["accuracy"], trained["accuracy"]["last"]);
  EXPECT_TRUE(predict(trained, file("new.csv", "review\nFine by me\n"), out)["accuracy"].is_null());
  const std::string dir = trained["dir"];
  expect_error({"predict", dir, "--data", file("no.csv", "text\nFine\n")}, 1, HasSubstr("no column 'review'"));
  expect_error({"predict", dir, "--data", file("hole.csv", "review,shop\n,north\n")}, 1,
               HasSubstr("line 2, column 'review': missing value"));
}

TEST_F(OwnData, TextsThatLackAKeyAreRefused) {
  const OwnTable table = reviews();
  const std::string path = file(table.name, table.content);
  const auto refuse = [&](const Words& settings, const std::string& message) {
    Words words{"run",   "fedavg",         "--quiet", "--set", "data.source=csv", "--set", "data.path=" + path,
                "--set", "data.label=mood"};
    for (const std::string& setting : settings) words.insert(words.end(), {"--set", setting});
    expect_error(words, 2, HasSubstr(message));
  };
  refuse({"data.text=review"}, "data.text: 'review' wants data.tokens");
  refuse({"data.text=reviw", "data.tokens=words"}, "data.text: no column 'reviw' (did you mean 'review'?)");
  refuse({"data.text=mood", "data.tokens=words"}, "data.text and data.label name the same column");
  refuse({"data.tokens=words"}, "data.tokens: \"words\" has no effect without data.text");
  refuse({"data.text=review", "data.tokens=words", "data.drop=[\"shop\"]"},
         "data.drop: [\"shop\"] has no effect with data.text = \"review\"; it applies without data.text");
}

TEST_F(OwnData, AModelOfLeafTextsPredictsFromATable) {
  nlohmann::json people{{"users", {"A", "B"}}, {"num_samples", {20, 20}}, {"user_data", nlohmann::json::object()}};
  for (const char* user : {"A", "B"}) {
    for (int i = 0; i < 20; ++i) {
      people["user_data"][user]["x"].push_back(i % 2 ? "abab" : "baba");
      people["user_data"][user]["y"].push_back(i % 2 ? "a" : "b");
    }
  }
  const Finished finished =
      muster({"run", "fedavg", "--rounds", "2", "--json", "--quiet", "--out", runs(), "--set", "data.source=leaf",
              "--set", "data.path=" + file("play.json", people.dump()), "--set", "data.tokens=characters"});
  ASSERT_EQ(finished.status, 0) << finished.err;
  const auto trained = nlohmann::json::parse(finished.out);
  const auto predicted =
      predict(trained, file("new.csv", "x,y,user\nabab,a,A\nbaba,b,B\n"), (scratch_.path() / "predicted.csv").string());
  EXPECT_EQ(predicted["rows"], 2);
  EXPECT_TRUE(predicted["accuracy"].is_number());
}

class EveryOwnTable : public OwnData, public testing::WithParamInterface<OwnTable> {};

TEST_P(EveryOwnTable, GoesFromFileToPredictionsInTwoCommands) {
  const OwnTable& table = GetParam();
  const std::string path = file(table.name, table.content);
  const nlohmann::json trained = run(table, path);
  ASSERT_TRUE(trained.is_object());
  EXPECT_GT(trained["accuracy"]["last"], 0.9);
  const std::string out = (scratch_.path() / "predicted.csv").string();
  const nlohmann::json predicted = predict(trained, path, out);
  ASSERT_TRUE(predicted.is_object());
  EXPECT_EQ(predicted["rows"], table.rows);
  EXPECT_EQ(records(out), table.rows);
  EXPECT_GT(predicted["accuracy"], 0.9);
  EXPECT_EQ(predict(trained, file("test-" + table.name, table.test_content), out)["accuracy"],
            trained["accuracy"]["last"]);
}

INSTANTIATE_TEST_SUITE_P(Nasty, EveryOwnTable, testing::Values(clinics(), tickets(), sensors(), loans(), frame()),
                         [](const auto& table) { return table.param.name.substr(0, table.param.name.find('.')); });

}  // namespace
}  // namespace muster
