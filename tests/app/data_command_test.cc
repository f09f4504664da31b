#include <fmt/format.h>
#include <stdlib.h>

#include <filesystem>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>

#include "app/commands.h"
#include "base/file.h"
#include "scratch_folder.h"

namespace muster {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::HasSubstr;

// Runs `muster ARGUMENTS` and gives what it prints, or the error.
Result<std::string> run(const std::string& arguments) {
  CommandLine line("muster", "", "");
  add_data_command(line.program());
  std::istringstream stream(arguments);
  testing::internal::CaptureStdout();
  const Status outcome = line.run({std::istream_iterator<std::string>(stream), {}});
  std::string text = testing::internal::GetCapturedStdout();
  if (!outcome) {
    EXPECT_EQ(text, "") << "an error, and yet something on stdout";
    return outcome.error();
  }
  return text;
}

TEST(DataList, ShowsSourcesAndPartitions) {
  const auto text = run("data list");
  ASSERT_TRUE(text.ok()) << text.error().message;
  for (const char* word : {"demo", "fashion-mnist", "classes-per-client", "Muster looks for"}) {
    EXPECT_THAT(*text, HasSubstr(word));
  }
  const auto machine = run("data list --json");
  const json parsed = json::parse(*machine);
  EXPECT_EQ(parsed["data"][0]["name"], "demo");
  EXPECT_TRUE(parsed["data"][0]["found"].is_null());
  EXPECT_GE(parsed["partitions"].size(), 10u);
}

TEST(DataInspect, CountsPerClassAndClient) {
  const auto machine = run("data inspect blobs --json --set data.clients=8 --set data.partition=shards");
  ASSERT_TRUE(machine.ok()) << machine.error().message;
  const json parsed = json::parse(*machine);
  EXPECT_EQ(parsed["source"], "blobs");
  EXPECT_EQ(parsed["clients"], 8);
  EXPECT_EQ(parsed["shape"], (std::vector<int>{28, 28, 1}));
  EXPECT_EQ(parsed["train"], 12000);
  EXPECT_EQ(parsed["test"], 2000);
  EXPECT_EQ(parsed["client_samples"]["min"], 1500);
  EXPECT_EQ(parsed["class_samples"], std::vector<int>(10, 1200));
  const auto text = run("data inspect blobs --set data.clients=8");
  EXPECT_THAT(*text, HasSubstr("min 1500 / mean 1500.0 / max 1500"));
}

// A setting has an effect on what is shown, or is refused.
TEST(DataInspect, RefusesSettingsWithoutEffect) {
  const auto law = run("data inspect blobs --set data.partition=iid --set data.alpha=0.1");
  ASSERT_FALSE(law.ok());
  EXPECT_EQ(law.error().code, ErrorCode::kUsage);
  EXPECT_THAT(law.error().message, HasSubstr("data.alpha: 0.1 has no effect with data.partition = \"iid\""));
  const auto section = run("data partition blobs --set local.epochs=2");
  ASSERT_FALSE(section.ok());
  EXPECT_THAT(section.error().message, HasSubstr("local.epochs: 2.0 has no effect on the data"));
  const auto values = run("data inspect blobs --set data.samples-min=5 --set data.samples-max=4");
  ASSERT_FALSE(values.ok());
  EXPECT_THAT(values.error().message, HasSubstr("data.samples-min: 5, want <= data.samples-max = 4"));
  // In a run exemplars need a profile that is asked on them; here they are counted.
  const auto exemplars = run("data inspect blobs --json --set data.exemplars=2 --set seed=3");
  ASSERT_TRUE(exemplars.ok()) << exemplars.error().message;
  EXPECT_EQ(json::parse(*exemplars)["exemplars"], 20);
}

TEST(DataInspect, TakesAFileOfOnesOwn) {
  const ScratchFolder scratch;
  const fs::path file = scratch / "own.csv";
  ASSERT_TRUE(write_file(file, "a,label\n1,x\n2,y\n3,x\n4,y\n").ok());
  const auto text = run("data inspect " + file.string() + " --set data.clients=2");
  ASSERT_TRUE(text.ok()) << text.error().message;
  EXPECT_THAT(*text, HasSubstr("csv, iid, 2 clients"));
}

// Whatever the names hold, a line stays a line.
TEST(DataInspect, TellsNamesAndNotes) {
  const ScratchFolder scratch;
  const fs::path file = scratch / "own.csv";
  std::string csv = "row_id;height;colour;result;site\n";
  for (int i = 0; i < 20; ++i) {
    csv += fmt::format("{};{},5;{};{};\"s,{}\"\n", i, 20 - i * i % 7, i % 3 ? "red" : "blue",
                       i % 2 ? "pos\x1b[0m" : "neg", i % 2);
  }
  ASSERT_TRUE(write_file(file, csv).ok());
  const std::string options = file.string() + " --set data.label=result --set data.client=site";
  const auto text = run("data inspect " + options);
  ASSERT_TRUE(text.ok()) << text.error().message;
  EXPECT_THAT(*text, HasSubstr("features row_id, height, colour=blue, colour=red\n"));
  EXPECT_THAT(*text, HasSubstr("note     column 'row_id' looks like an id"));
  EXPECT_THAT(*text, HasSubstr("note     features are standardised"));
  EXPECT_THAT(*text, HasSubstr("  pos\\x1b[0m\n"));
  EXPECT_THAT(*text, HasSubstr("  s,1\n"));
  const json parsed = json::parse(*run("data inspect " + options + " --json"));
  EXPECT_EQ(parsed["class_names"], json({"neg", "pos\x1b[0m"}));
  EXPECT_EQ(parsed["client_names"], json({"s,0", "s,1"}));
  EXPECT_EQ(parsed["feature_names"], json({"row_id", "height", "colour=blue", "colour=red"}));
  EXPECT_GE(parsed["notes"].size(), 3u);
  const auto table = run("data partition " + options + " --set data.test-fraction=0.0");
  ASSERT_TRUE(table.ok()) << table.error().message;
  EXPECT_EQ(*table, "client,neg,pos\\x1b[0m\n\"s,0\",10,0\n\"s,1\",0,10\n");
}

TEST(DataPartition, WritesTheTableAndThePicture) {
  const ScratchFolder scratch;
  const fs::path csv = scratch / "labels.csv";
  const fs::path svg = scratch / "labels.svg";
  const fs::path png = scratch / "labels.png";
  const std::string command = "data partition blobs --set data.clients=3 ";
  const auto table = run(command);
  ASSERT_TRUE(table.ok()) << table.error().message;
  EXPECT_TRUE(table->starts_with("c0,c1,c2,c3,c4,c5,c6,c7,c8,c9\n"));
  EXPECT_EQ(std::ranges::count(*table, '\n'), 4);
  const auto text = run(command + "--out " + csv.string() + " --plot " + svg.string());
  ASSERT_TRUE(text.ok()) << text.error().message;
  EXPECT_THAT(*text, HasSubstr("wrote " + csv.string()));
  const auto written = read_file(csv);
  EXPECT_EQ(std::string(written->begin(), written->end()), *table);
  EXPECT_TRUE(fs::exists(svg));
  const json parsed = json::parse(*run(command + "--json --plot " + png.string()));
  EXPECT_EQ(parsed["plot"], png.string());
  EXPECT_TRUE(parsed["out"].is_null());
  EXPECT_TRUE(fs::exists(png));
}

TEST(DataPartition, RefusesWhatItCannotWrite) {
  EXPECT_EQ(run("data partition blobs --plot x.gif").error().message,
            "--plot: x.gif, want a file that ends in .png or .svg");
  const auto unwritable = run("data partition blobs --out /no/such/folder/x.csv");
  EXPECT_EQ(unwritable.error().code, ErrorCode::kFailed);
  EXPECT_THAT(unwritable.error().message, HasSubstr("/no/such/folder/x.csv"));
}

TEST(DataGet, SaysWhatNoPackageCarriesAndWhatNeedsNothing) {
  const ScratchFolder scratch;
  setenv("MUSTER_DATA", scratch.path().c_str(), 1);
  const auto femnist = run("data get femnist");
  EXPECT_EQ(femnist.error().code, ErrorCode::kFailed);
  EXPECT_THAT(femnist.error().message, HasSubstr("github.com/TalwalkarLab/leaf"));
  EXPECT_THAT(femnist.error().message, HasSubstr((scratch / "femnist").string()));
  unsetenv("MUSTER_DATA");
  EXPECT_EQ(run("data get blobs").error().message, "blobs is generated: there is nothing to get");
  EXPECT_THAT(run("data get csv").error().message, HasSubstr("reads your own files"));
  EXPECT_THAT(run("data get mnits").error().message, HasSubstr("did you mean 'mnist'?"));
}

TEST(DataCommand, PassesErrorsOn) {
  EXPECT_THAT(run("data inspect blobs --set data.klients=3").error().message, HasSubstr("data.klients"));
  EXPECT_EQ(run("data inspect blobs --set data.clients=12001").error().message,
            "data.clients: 12001, want at most 12000 (the training samples of blobs)");
  EXPECT_FALSE(run("data").ok());
}

}  // namespace
}  // namespace muster
