// docs/files.md against the files of runs: every field, and every section of a checkpoint, that is written is
// documented, and every documented one is written.
#include "compositions.h"
#include "documented_fields.h"
#include "record/checkpoint.h"
#include "site_table.h"
#include "small_run.h"

namespace muster {
namespace {

class FilesDoc : public SimulationTest {
 protected:
  void collect(const Recipe& recipe) {
    const RunSummary summary = run(recipe);
    collect_sections(summary.dir / "checkpoint");
    const std::filesystem::path weights = summary.dir / "model.safetensors";
    if (std::filesystem::exists(weights)) collect_metadata(weights);
    for (const char* file : {"summary.json", "rounds.jsonl", "groups.jsonl", "preparation.json"}) {
      if (!std::filesystem::exists(summary.dir / file)) continue;
      for (const nlohmann::json& line : lines(summary.dir / file)) add_fields(line, "", written_[file]);
    }
    std::ifstream table(summary.dir / "clients.csv");
    std::string header;
    std::getline(table, header);
    for (std::istringstream cells(header); std::getline(cells, header, ',');) written_["clients.csv"].insert(header);
  }

  void collect_sections(const std::filesystem::path& folder) {
    constexpr std::string_view kKept = "best.kept.";
    for (const std::filesystem::path& file : list_checkpoints(folder)) {
      const auto checkpoint = read_checkpoint(file);
      ASSERT_TRUE(checkpoint.ok()) << checkpoint.error().message;
      for (const auto& [name, content] : checkpoint->sections) {
        written_["checkpoint/"].insert(name.starts_with(kKept) ? std::string(kKept) + "*" : name);
      }
    }
  }

  // The file begins with the length of its header, 8 bytes, and the header, a JSON object.
  void collect_metadata(const std::filesystem::path& file) {
    std::ifstream in(file, std::ios::binary);
    std::uint64_t length = 0;
    in.read(reinterpret_cast<char*>(&length), sizeof length);
    ASSERT_TRUE(in && length < 1'000'000) << file;
    std::string header(length, ' ');
    in.read(header.data(), static_cast<std::streamsize>(length));
    add_fields(nlohmann::json::parse(header)["__metadata__"], "", written_["model.safetensors"]);
  }

  FieldsOfFiles written_;
};

TEST_F(FilesDoc, NamesEveryFieldThatIsWritten) {
  for (const NamedSettings& composition : kCompositions) {
    Settings settings = composition.settings;
    settings.push_back("rounds=3");
    collect(images(settings));
  }
  // Planted clusters, noisy profiles, more groups than directions, models of groups.
  const Settings planted{"data.source=blobs", "data.partition=label-groups", "data.label-groups=0-4,5-9",
                         "data.clients=12",   "model.name=softmax",          "aggregation.global=none",
                         "rounds=1"};
  collect(recipe_of(
      {planted,
       {"profile.kind=label-histogram", "profile.epsilon=1.0", "grouping.method=mediator", "grouping.size=3"}}));
  collect(recipe_of({planted,
                     {"profile.kind=update-direction", "profile.steps=1", "grouping.method=decomposed-cosine",
                      "grouping.groups=2", "evaluation.discrepancy=true", "evaluation.distances=true"}}));
  collect(recipe_of({planted, {"profile.kind=label-histogram", "grouping.method=inter-cluster", "grouping.groups=5"}}));
  const auto table = folder_.write("sites.csv", site_table({.split = true}) + "site 1,,120,0.5,train,well\n");
  collect(recipe_of({{"data.source=csv", "data.path=" + table.string(), "data.label=outcome", "data.client=site",
                      "data.missing=mean", "data.categorical=[\"noise\"]", "rounds=1"}}));
  collect(recipe_of({{"data.source=csv", "data.path=" + table.string(), "data.label=outcome", "data.missing=drop",
                      "data.partition=iid", "data.clients=2", "rounds=1"}}));
  collect(images({"rounds=1", "data.test-fraction=0.2", "evaluation.on=clients", "data.validation-fraction=0.2",
                  "evaluation.keep=best", "evaluation.metrics=[\"per-class\", \"confusion\", \"macro-f1\"]"}));
  std::string two = "x,label\n";
  for (int i = 0; i < 40; ++i) two += fmt::format("{},{}\n", i, i % 3 == 0 ? "yes" : "no");
  const auto classes = folder_.write("two.csv", two);
  collect(recipe_of({{"data.source=csv", "data.path=" + classes.string(), "data.partition=iid", "data.clients=2",
                      "data.test-fraction=0.3", "evaluation.metrics=auc", "rounds=1"}}));
  const auto play = folder_.write(
      "play.json",
      std::string(R"({"users": ["A"], "num_samples": [2], "user_data": {"A": {"x": ["ab", "ba"], "y": ["c", "d"]}}})"));
  collect(recipe_of({{"data.source=leaf", "data.path=" + play.string(), "data.tokens=characters", "data.words=4",
                      "model.name=layers", "model.layers=[\"embedding 2\", \"gru 3\"]", "rounds=1"}}));
  FieldsOfFiles wanted = documented_fields();
  wanted.erase("ledger.jsonl");  // of deployed runs
  EXPECT_EQ(written_, wanted);
}

}  // namespace
}  // namespace muster
