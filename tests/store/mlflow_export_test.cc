// What is written is what MLflow's file store reads: its layout, checked by a reader of its own.
#include "store/mlflow_export.h"

#include <gmock/gmock.h>

#include "base/file.h"
#include "store/run_scene.h"

namespace muster {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::UnorderedElementsAre;

class MlflowFolder : public RunScene {
 protected:
  std::filesystem::path root() const { return scratch_.path() / "ml runs"; }
  static std::string text(const std::filesystem::path& file) {
    const auto bytes = read_file(file);
    EXPECT_TRUE(bytes.ok()) << bytes.error().message;
    return bytes.ok() ? std::string(bytes->begin(), bytes->end()) : "";
  }
  static std::vector<std::string> names(const std::filesystem::path& folder) {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      found.push_back(entry.path().filename().string());
    }
    std::ranges::sort(found);
    return found;
  }
  MlflowExport exported(const Store& store, const char* id, const std::string& experiment = "my: \"experiment\"") {
    const auto made = export_to_mlflow(store, *store.find(id), root(), experiment);
    EXPECT_TRUE(made.ok()) << made.error().message;
    return *made;
  }
};

TEST_F(MlflowFolder, HasParametersMetricsTagsAndArtifacts) {
  make_run("a", 2);
  append("a", "recipe.toml", "layers = \"one\\ntwo\"\nlong = \"" + std::string(700, 'x') + "\"\n\"../bad\" = 1\n");
  write("a", "summary.json", summary_text("a", 2));
  write("a", "tags", "good\nbetter\n");
  write("a", "lock", "");
  const Store store = opened();
  const MlflowExport made = exported(store, "a");
  EXPECT_THAT(names(made.folder), ElementsAre("artifacts", "meta.yaml", "metrics", "params", "tags"));
  EXPECT_EQ(text(made.folder / "params" / "data.alpha"), "0.5");
  EXPECT_EQ(text(made.folder / "params" / "model.name"), "cnn");
  EXPECT_EQ(text(made.folder / "params" / "model.layers"), "one\\ntwo");
  EXPECT_EQ(text(made.folder / "params" / "model.long").size(), 500u);
  EXPECT_THAT(names(made.folder / "params"),
              UnorderedElementsAre("data.alpha", "model.layers", "model.long", "model.name", "name", "rounds", "seed"));
  EXPECT_THAT(text(made.folder / "metrics" / "accuracy"), MatchesRegex("[0-9]{13} 0.1 1\n[0-9]{13} 0.2 2\n"));
  EXPECT_THAT(text(made.folder / "metrics" / "bytes_total"), MatchesRegex("[0-9]+ 30 1\n[0-9]+ 60 2\n"));
  EXPECT_EQ(text(made.folder / "tags" / "mlflow.runName"), "a");
  EXPECT_EQ(text(made.folder / "tags" / "muster.tags"), "better,good");
  EXPECT_THAT(names(made.folder / "artifacts"), ElementsAre("recipe.toml", "rounds.jsonl", "summary.json", "tags"));
  const std::string meta = text(made.folder / "meta.yaml");
  EXPECT_THAT(meta, HasSubstr("\nstatus: 3\n"));
  EXPECT_THAT(meta, HasSubstr("\nrun_id: \"" + made.run_id + "\"\n"));
  EXPECT_THAT(meta, HasSubstr("\nexperiment_id: '" + made.experiment_id + "'\n"));
  EXPECT_THAT(meta, HasSubstr("artifact_uri: \"file:///"));
  EXPECT_THAT(meta, HasSubstr("/ml%20runs/"));
  EXPECT_EQ(made.run_id.size(), 32u);
  const std::string experiment = text(made.folder.parent_path() / "meta.yaml");
  EXPECT_THAT(experiment, HasSubstr("\nname: \"my: \\\"experiment\\\"\"\n"));
}

TEST_F(MlflowFolder, IsReplacedWhenExportedAgainAndSharesItsExperiment) {
  make_run("a", 1);
  make_run("b", 1);
  Store store = opened();
  const MlflowExport first = exported(store, "a");
  append("a", "rounds.jsonl", round_line(2, 0.9));
  refresh(store);
  const MlflowExport again = exported(store, "a");
  EXPECT_EQ(again.folder, first.folder);
  EXPECT_THAT(text(again.folder / "metrics" / "accuracy"), HasSubstr(" 0.9 2\n"));
  EXPECT_EQ(exported(store, "b").experiment_id, first.experiment_id);
  EXPECT_THAT(names(first.folder.parent_path()).size(), 3u);  // two runs and meta.yaml
  EXPECT_NE(exported(store, "b", "another").experiment_id, first.experiment_id);
  EXPECT_THAT(names(root()).size(), 3u);  // two experiments and .trash: nothing temporary is left
  // One that MLflow has made.
  std::filesystem::create_directories(root() / "0");
  std::ofstream(root() / "0" / "meta.yaml") << "experiment_id: '0'\nname: Default\n";
  EXPECT_EQ(exported(store, "a", "Default").experiment_id, "0");
}

}  // namespace
}  // namespace muster
