// The command line as its users meet it: exit status, one clear line for every mistake, and nothing lost to a kill.
#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/random.h"
#include "command_line.h"

namespace muster {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class Cli : public CommandLineTest {
 protected:
  // `run` on small generated data, with further words.
  Words small_run(const Words& more) const {
    Words words{"run",
                "fedavg",
                "--out",
                runs(),
                "--quiet",
                "--set",
                "data.source=blobs",
                "--set",
                "model.name=softmax",
                "--set",
                "data.clients=20",
                "--set",
                "plan.sample-clients=5"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  std::string runs() const { return (scratch_.path() / "runs").string(); }
  // An IDX pair (and its test part) of 4 x 4 images; `labels` may be wrong on purpose.
  std::string idx_folder(const std::string& labels, std::size_t image_bytes) const {
    const auto big_endian = [](std::uint32_t v) {
      return std::string{static_cast<char>(v >> 24), static_cast<char>(v >> 16), static_cast<char>(v >> 8),
                         static_cast<char>(v)};
    };
    const auto n = static_cast<std::uint32_t>(labels.size());
    const std::string images =
        std::string("\0\0\x08\x03", 4) + big_endian(n) + big_endian(4) + big_endian(4) + std::string(image_bytes, 'x');
    const std::string label_file = std::string("\0\0\x08\x01", 4) + big_endian(n) + labels;
    for (const char* part : {"train", "t10k"}) {
      file(std::string("idx/") + part + "-images-idx3-ubyte", images);
      file(std::string("idx/") + part + "-labels-idx1-ubyte", label_file);
    }
    return (scratch_.path() / "idx").string();
  }
};

TEST_F(Cli, RunPrintsOneJsonObjectWithTheContractsFields) {
  const Finished finished = muster(small_run({"--rounds", "3", "--json", "--set", "target-accuracy=0.99"}));
  ASSERT_EQ(finished.status, 0) << finished.err;
  EXPECT_EQ(finished.err, "");
  const auto json = nlohmann::json::parse(finished.out);
  for (const char* field : {"run", "recipe", "seed", "rounds", "stopped", "signature", "accuracy", "loss", "target",
                            "clients", "models", "groups", "quality", "cost", "time", "peak_rss_bytes", "dir"}) {
    EXPECT_TRUE(json.contains(field)) << field;
  }
  EXPECT_EQ(json["recipe"], "fedavg");
  EXPECT_EQ(json["rounds"], 3);
  EXPECT_EQ(json["stopped"], "rounds");
  EXPECT_TRUE(json["target"]["round"].is_null());
  for (const char* field : {"last", "best", "best_round"}) EXPECT_TRUE(json["accuracy"].contains(field));
  for (const char* field : {"count", "idle", "size_min", "size_mean", "size_max"})
    EXPECT_TRUE(json["groups"].contains(field));
  for (const char* field : {"cov_mean", "cpd_median", "balance_ratio", "covered_classes"})
    EXPECT_TRUE(json["quality"].contains(field));
  for (const char* field : {"compute_s", "comm_s", "bytes_up", "bytes_down", "group_s"})
    EXPECT_TRUE(json["cost"].contains(field));
  for (const char* field :
       {"wall_s", "setup_s", "profile_s", "group_s", "train_s", "eval_s", "samples_trained", "samples_per_s"})
    EXPECT_TRUE(json["time"].contains(field));
  const std::filesystem::path dir = json["dir"].get<std::string>();
  for (const char* name :
       {"recipe.toml", "rounds.jsonl", "clients.csv", "groups.jsonl", "model.safetensors", "checkpoint"}) {
    EXPECT_TRUE(std::filesystem::exists(dir / name)) << name;
  }
}

TEST_F(Cli, ThePeakOfMemoryIsThatOfTheKernel) {
  // Of so many clients that whatever is made of them at the end would be seen.
  const Words words{"run",       "fedavg",
                    "--out",     runs(),
                    "--quiet",   "--json",
                    "--set",     "data.source=synthetic",
                    "--set",     "data.clients=400000",
                    "--set",     "model.name=softmax",
                    "--set",     "plan.sample-clients=10",
                    "--set",     "evaluation.on=global",
                    "--set",     "data.test-fraction=0.1",
                    "--rounds",  "2",
                    "--threads", "1"};
  const Finished finished = muster(words);
  ASSERT_EQ(finished.status, 0) << finished.err;
  const auto json = nlohmann::json::parse(finished.out);
  const auto told = json["peak_rss_bytes"].get<double>();
  const auto seen = static_cast<double>(finished.peak_rss_bytes);
  EXPECT_NEAR(told / seen, 1, 0.03) << told << " told, " << seen << " seen";
  std::ifstream table(std::filesystem::path(json["dir"].get<std::string>()) / "clients.csv");
  EXPECT_EQ(std::count(std::istreambuf_iterator<char>(table), {}, '\n'), 400'001);
}

TEST_F(Cli, TheSummarySaysHowTheRunEnded) {
  const auto summary = [&](const Words& more) {
    const Finished finished = muster(small_run(more));
    EXPECT_EQ(finished.status, 0) << finished.err;
    return finished.out;
  };
  EXPECT_THAT(summary({"--rounds", "1"}), HasSubstr(": 20 clients, 1 round done\n"));
  EXPECT_THAT(summary({"--rounds", "2"}),
              AllOf(HasSubstr(": 20 clients, all 2 rounds done\n  accuracy   last "), HasSubstr(" (round ")));
  EXPECT_THAT(summary({"--set", "target-accuracy=0.01"}), HasSubstr("stopped after round 1: target reached\n"));
  // Nothing was paid for, so there is no best.
  EXPECT_THAT(summary({"--set", "budget=1e-9"}),
              AllOf(HasSubstr("stopped after round 1: budget spent\n"), HasSubstr(" %  best -\n")));
}

TEST_F(Cli, EveryPhaseIsInTheTime) {
  // FedSeq has its clients train for their profiles.
  Words words{"run",
              "fedseq",
              "--out",
              runs(),
              "--json",
              "--rounds",
              "1",
              "--set",
              "data.source=blobs",
              "--set",
              "data.clients=20",
              "--set",
              "model.name=softmax",
              "--set",
              "grouping.min-samples=2000"};
  const Finished finished = muster(words);
  ASSERT_EQ(finished.status, 0) << finished.err;
  const auto time = nlohmann::json::parse(finished.out)["time"];
  double sum = 0;
  for (const char* part : {"setup_s", "profile_s", "group_s", "train_s", "eval_s"}) {
    EXPECT_GT(time[part], 0) << part;
    sum += time[part].get<double>();
  }
  EXPECT_LE(sum, time["wall_s"].get<double>() * 1.001);
  EXPECT_THAT(finished.err, HasSubstr("reading data\n"));
  const Finished resumed = muster({"run", "--resume", nlohmann::json::parse(finished.out)["dir"], "--rounds", "3"});
  EXPECT_THAT(resumed.err, HasSubstr("muster: going on with round 2 of 3\n"));
  EXPECT_THAT(resumed.out, HasSubstr(" s: setup "));
  expect_error({"run", "--resume", nlohmann::json::parse(finished.out)["dir"], "--rounds", "2", "--quiet"}, 2,
               HasSubstr("rounds: 2, but 3 of the run are done already; want >= 3\n"));
}

TEST_F(Cli, GroupsAndFoundClustersAreInTheLastLines) {
  Words words = small_run({"--rounds", "1"});
  EXPECT_THAT(muster(words).out, Not(HasSubstr("  groups "))) << "clients that are not grouped are no groups";
  for (const char* setting : {"grouping.method=random", "grouping.size=5"}) {
    words.insert(words.end(), {"--set", setting});
  }
  EXPECT_THAT(muster(words).out,
              AllOf(HasSubstr("  groups     4 of 5 clients, 0 idle, CoV "), HasSubstr(", 1 model\n")));
  // Clients in groups that hold labels of their own; an event in round 3 finds the groups by the clients' updates.
  const Words planted{"run",
                      "autocfl",
                      "--task",
                      "fashion-label-groups",
                      "--out",
                      runs(),
                      "--quiet",
                      "--rounds",
                      "4",
                      "--set",
                      "data.source=blobs",
                      "--set",
                      "model.name=softmax",
                      "--set",
                      "plan.regroup-on=round",
                      "--set",
                      "plan.regroup-round=3"};
  const Finished found = muster(planted);
  ASSERT_EQ(found.status, 0) << found.err;
  EXPECT_THAT(found.out, AllOf(HasSubstr("  clusters   2 formed in round 3: "), HasSubstr(" of 20 clients right\n")));
}

TEST_F(Cli, AbandonedSumsAreSaidInEveryRoundAndAtTheEnd) {
  const auto summed = [&](const char* drop) {
    Words words = small_run({"--rounds", "2", "--set", "grouping.method=random", "--set", "grouping.size=5", "--set",
                             "aggregation.in-group=secure-sum", "--set", "plan.sample-clients=1.0", "--set", drop});
    std::erase(words, "--quiet");
    return muster(words);
  };
  const Finished all = summed("faults.drop=0.0");
  EXPECT_THAT(all.out, HasSubstr("secure     8 sums, none abandoned\n")) << all.err;
  EXPECT_THAT(all.err, Not(HasSubstr("abandoned")));
  const Finished few = summed("faults.drop=0.99");
  EXPECT_THAT(few.out, HasSubstr("secure     8 of 8 sums abandoned: too few members")) << few.err;
  EXPECT_THAT(few.err, AllOf(HasSubstr("round 1/2"), HasSubstr("4 of 4 sums abandoned")));
}

TEST_F(Cli, ARunThatDivergesSaysWhatToTry) {
  Words words = small_run({"--rounds", "9", "--json", "--set", "local.learning-rate=1e38"});
  std::erase(words, "--quiet");
  const Finished loud = muster(words);
  ASSERT_EQ(loud.status, 0) << loud.err;
  EXPECT_EQ(nlohmann::json::parse(loud.out)["stopped"], "diverged");
  EXPECT_TRUE(loud.err.ends_with("muster: the run diverged; lower local.learning-rate, or try data.normalize=true\n"))
      << loud.err;
  const Finished quiet = muster(small_run({"--rounds", "9", "--set", "local.learning-rate=1e38"}));
  EXPECT_EQ(quiet.status, 0);
  EXPECT_THAT(quiet.out, HasSubstr(" no longer finite\n"));
  EXPECT_TRUE(quiet.out.ends_with("  diverged   lower local.learning-rate, or try data.normalize=true\n")) << quiet.out;
  EXPECT_EQ(quiet.err, "");
  std::erase(words, "--json");
  const Finished printed = muster(words);
  EXPECT_TRUE(printed.out.ends_with(quiet.out.substr(quiet.out.find("  diverged"))));
  EXPECT_THAT(printed.err, Not(HasSubstr("diverged"))) << "once is enough";
}

TEST_F(Cli, ARunWithoutTestSamplesSaysThatNothingWasEvaluated) {
  std::string csv = "x,z,label,client\n";
  for (int i = 0; i < 12; ++i) csv += fmt::format("{},1,{},{}\n", i, i % 2, i % 3);
  const Finished finished =
      muster({"run", "fedavg", "--out", runs(), "--quiet", "--rounds", "2", "--set", "data.source=csv", "--set",
              "data.path=" + file("no-tests.csv", csv), "--set", "model.name=softmax"});
  ASSERT_EQ(finished.status, 0) << finished.err;
  EXPECT_THAT(finished.out, HasSubstr("  accuracy   not evaluated: there are no test samples\n"));
  EXPECT_TRUE(finished.out.ends_with("  evaluated  nothing; test samples need data.test-fraction or a split column\n"))
      << finished.out;
}

TEST_F(Cli, ARunNotesWhatLooksWrongAboutItsTable) {
  std::string csv = "x,z,label,client\n";
  for (int i = 0; i < 12; ++i) csv += fmt::format("{},1,{},{}\n", i, i % 2, i % 3);
  const Finished finished = muster({"run", "fedavg", "--out", runs(), "--rounds", "1", "--set", "data.source=csv",
                                    "--set", "data.path=" + file("notes.csv", csv), "--set", "model.name=softmax"});
  ASSERT_EQ(finished.status, 0) << finished.err;
  EXPECT_THAT(finished.err, HasSubstr("muster: note: column 'x' looks like an id and is used as a feature"));
  EXPECT_THAT(finished.err, HasSubstr("muster: note: column 'z' has the same value in all rows"));
}

TEST_F(Cli, NamesThatAreNotUtf8DoNotStopTheResult) {
  std::string csv = "x,label,client\n";
  for (int i = 0; i < 12; ++i) csv += fmt::format("{},{},{}\n", i, i % 2, i % 3);
  const Finished inspected = muster({"data", "inspect", file("\xff.csv", csv), "--json"});
  ASSERT_EQ(inspected.status, 0) << inspected.err;
  EXPECT_EQ(nlohmann::json::parse(inspected.out)["clients"], 3);
  const Finished ran =
      muster({"run", "fedavg", "--out", runs() + "-\xff", "--quiet", "--json", "--rounds", "1", "--set",
              "data.source=blobs", "--set", "model.name=softmax", "--set", "data.clients=20"});
  ASSERT_EQ(ran.status, 0) << ran.err;
  EXPECT_EQ(nlohmann::json::parse(ran.out)["rounds"], 1);
}

TEST_F(Cli, MistakesInTheRecipeAreUsageErrors) {
  expect_error({"run", "fedavgg"}, 2, AllOf(HasSubstr("'fedavgg'"), HasSubstr("did you mean 'fedavg'")));
  expect_error(small_run({"--set", "local.epohcs=2"}), 2, AllOf(HasSubstr("local.epohcs"), HasSubstr("local.epochs")));
  expect_error(small_run({"--set", "local.epochs=0"}), 2,
               AllOf(HasSubstr("local.epochs"), HasSubstr("0"), HasSubstr("> 0")));
  expect_error(small_run({"--set", "local.objective=dynamic"}), 2, HasSubstr("want aggregation.global = \"dynamic\""));
  expect_error(small_run({"--rounds", "0"}), 2, HasSubstr("rounds"));
  expect_error(small_run({"--rounds", "many"}), 2, HasSubstr("many"));
  expect_error(small_run({"--rounds", "99999999999"}), 2, HasSubstr("--rounds: 99999999999, want a whole number"));
  expect_error(small_run({"--seed", "-3"}), 2, HasSubstr("--seed: -3, want a whole number"));
  expect_error(small_run({"--rounds", "1.5"}), 2, HasSubstr("--rounds: 1.5, want a whole number"));
  expect_error(small_run({"--threads", "-1"}), 2, HasSubstr("--threads: -1, want 1 to 1024"));
  expect_error(small_run({"--threads", "0"}), 2, HasSubstr("--threads: 0, want 1 to 1024"));
  expect_error(small_run({"--nonsense"}), 2, HasSubstr("nonsense"));
  expect_error({"run", file("typo.toml", "rounds = 3\n[local]\nbatchsize = 3\n")}, 2,
               AllOf(HasSubstr("typo.toml:3"), HasSubstr("local.batch-size")));
  expect_error({"run", "missing.toml"}, 2, HasSubstr("missing.toml"));
}

TEST_F(Cli, AMissingOrMistypedCommandIsToldWithThoseThereAre) {
  expect_error({}, 2, HasSubstr("muster needs a command: run, "));
  expect_error({"bench"}, 2, HasSubstr("bench needs a command: train, "));
  expect_error({"gruop"}, 2, AllOf(HasSubstr("'gruop'"), HasSubstr("did you mean 'group'")));
  expect_error({"bench", "trian"}, 2, AllOf(HasSubstr("'trian'"), HasSubstr("did you mean 'train'")));
  expect_error({"--nonsense"}, 2, HasSubstr("--nonsense: not an option of muster"));
}

TEST_F(Cli, AnUnknownOptionIsNamedWithItsCommand) {
  expect_error({"group", "random", "--threads", "2"}, 2, HasSubstr("--threads: not an option of group;"));
  expect_error({"show", "fedavg", "fedprox"}, 2, HasSubstr("fedprox: one argument too many for show;"));
}

TEST_F(Cli, BrokenDataAreFailuresThatNameTheFile) {
  const auto with = [&](const std::string& source, const std::string& path) {
    return small_run({"--set", "data.source=" + source, "--set", "data.path=" + path});
  };
  expect_error(with("csv", "no/such.csv"), 1, HasSubstr("no/such.csv"));
  expect_error(with("idx", "no/such/folder"), 1, HasSubstr("no/such/folder"));
  expect_error(with("idx", idx_folder(std::string(40, '\1'), 40 * 16 - 5)), 1,
               AllOf(HasSubstr("images"), HasSubstr("truncated")));
  expect_error(with("csv", file("nan.csv", "a,b,label\n1,2,0\nnan,3,1\n")), 1,
               AllOf(HasSubstr("nan.csv"), HasSubstr("3")));
  expect_error(with("csv", file("empty.csv", "")), 1, HasSubstr("empty.csv"));
  expect_error(with("csv", file("hole.csv", "a,b,label\n1,,0\n2,3,1\n")), 1, HasSubstr("hole.csv"));
}

TEST_F(Cli, MoreClientsThanSamplesIsAClearError) {
  std::string csv = "a,b,label\n";
  for (int i = 0; i < 10; ++i) csv += std::to_string(i) + ",1," + std::to_string(i % 2) + "\n";
  const Finished finished =
      muster(small_run({"--set", "data.source=csv", "--set", "data.path=" + file("ten.csv", csv)}));
  EXPECT_NE(finished.status, 0);
  EXPECT_THAT(finished.err, AllOf(HasSubstr("20"), HasSubstr("clients")));
  EXPECT_EQ(std::count(finished.err.begin(), finished.err.end(), '\n'), 1) << finished.err;
}

TEST_F(Cli, AnUnwritableFolderIsAFailure) {
  const std::string blocked = file("a-file", "not a folder");
  expect_error({"run", "fedavg", "--quiet", "--set", "data.source=blobs", "--out", blocked + "/runs"}, 1,
               HasSubstr("a-file"));
}

TEST_F(Cli, ATableWithClientsNeedsNoMoreThanItsName) {
  // Client b has a test row but nothing to train on: it takes no part, and that is no error.
  std::string csv = "x,z,label,client,split\n";
  for (int i = 0; i < 10; ++i) csv += std::to_string(i) + ",1,odd" + std::to_string(i % 2) + ",a,0\n";
  csv += "3,1,odd1,b,1\n4,1,odd0,a,1\n5,1,odd1,c,0\n";
  const Finished finished =
      muster({"run", "fedavg", "--out", runs(), "--quiet", "--json", "--rounds", "2", "--set", "data.source=csv",
              "--set", "data.path=" + file("three.csv", csv), "--set", "model.name=softmax"});
  ASSERT_EQ(finished.status, 0) << finished.err;
  EXPECT_EQ(nlohmann::json::parse(finished.out)["clients"], 2);
}

TEST_F(Cli, ClientsWithoutSamplesAreIdleNotFatal) {
  // Sixty samples of ten classes, one class per client: some of the forty clients find theirs empty.
  std::string csv = "x,z,label\n";
  for (int i = 0; i < 60; ++i) csv += std::to_string(i) + ",1," + std::to_string(i % 30 == 0 ? i / 30 : 2) + "\n";
  const Finished finished = muster({"run",      "fedavg",
                                    "--out",    runs(),
                                    "--quiet",  "--json",
                                    "--rounds", "2",
                                    "--set",    "data.source=csv",
                                    "--set",    "data.path=" + file("few.csv", csv),
                                    "--set",    "model.name=softmax",
                                    "--set",    "data.partition=dirichlet-truncated",
                                    "--set",    "data.alpha=0.01",
                                    "--set",    "data.clients=40",
                                    "--set",    "data.samples-min=1",
                                    "--set",    "data.samples-max=4"});
  ASSERT_EQ(finished.status, 0) << finished.err;
  EXPECT_GT(nlohmann::json::parse(finished.out)["groups"]["idle"], 0);
}

TEST_F(Cli, HelpAndVersionGoToStdout) {
  for (const Words& words : {Words{"--help"}, Words{"run", "--help"}, Words{"list", "--help"}, Words{"show", "--help"},
                             Words{"export", "--help"}, Words{"--version"}}) {
    const Finished finished = muster(words);
    EXPECT_EQ(finished.status, 0);
    EXPECT_NE(finished.out, "");
    EXPECT_EQ(finished.err, "");
  }
  EXPECT_THAT(muster({"run", "--help"}).out, HasSubstr("Example"));
}

TEST_F(Cli, ARunTellsHowItDoesBySiteAndByClass) {
  std::string csv = "x,label,site\n";
  for (int i = 0; i < 60; ++i) csv += fmt::format("{},{},site {}\n", i % 7 - 3, i % 7 > 3 ? "high" : "low", i % 3);
  const Finished finished =
      muster({"run", "fedavg", "--out", runs(), "--rounds", "3", "--set", "data.source=csv", "--set",
              "data.path=" + file("sites.csv", csv), "--set", "data.client=site", "--set", "data.test-fraction=0.5"});
  ASSERT_EQ(finished.status, 0) << finished.err;
  EXPECT_THAT(finished.out, HasSubstr("  sites      of 3: worst "));
  EXPECT_THAT(finished.out, HasSubstr(" (site "));
  EXPECT_THAT(finished.out, HasSubstr("  classes    macro-F1 "));
  EXPECT_THAT(finished.out, HasSubstr(", AUC "));
}

TEST_F(Cli, ShowTellsTheShapesOfANetworkOrWhyItDoesNotFit) {
  const auto shown = [&](const std::string& layers) {
    return muster({"show", "fedavg", "--set", "data.source=blobs", "--set", "model.name=layers", "--set",
                   "model.layers=" + layers});
  };
  EXPECT_THAT(shown(R"(["dense 7", "relu"])").out, HasSubstr("# dense 7"));
  EXPECT_THAT(shown(R"(["max-pool 200"])").out, HasSubstr("# will be refused: model.layers[0]: max-pool 200 on"));
}

TEST_F(Cli, ListAndShow) {
  const auto json = nlohmann::json::parse(muster({"list", "--json"}).out);
  for (const char* stage : {"recipes", "models", "data", "metrics", "aggregation", "objective"}) {
    ASSERT_TRUE(json.contains(stage)) << stage;
    for (const char* field : {"name", "summary", "keys"}) EXPECT_TRUE(json[stage][0].contains(field));
  }
  const Finished shown = muster({"show", "fedprox", "--set", "local.mu=0.25"});
  EXPECT_EQ(shown.status, 0);
  EXPECT_THAT(shown.out, HasSubstr("mu = 0.25"));
  EXPECT_THAT(shown.out, Not(HasSubstr("beta1")));
  EXPECT_THAT(muster({"show", "fedprox", "--all"}).out, HasSubstr("# beta1: has no effect with aggregation.global"));
  EXPECT_THAT(muster({"show", "fedprox", "--set", "local.objective=plain"}).out, Not(HasSubstr("mu =")));
  expect_error({"show", "fedavg", "--set", "local.mu=0.25"}, 2, HasSubstr("it belongs to local.objective = \"prox\""));
  expect_error(small_run({"--set", "data.partition=iid", "--set", "data.alpha=0.1"}), 2,
               HasSubstr("data.alpha: 0.1 has no effect with data.partition = \"iid\""));
  EXPECT_THAT(muster({"list", "keys", "--markdown"}).out, HasSubstr("| `mu` | weight of the proximal term |"));
  expect_error({"list", "models", "--markdown"}, 2, HasSubstr("--markdown"));
  expect_error({"list", "recipez"}, 2, HasSubstr("did you mean 'recipes'"));
}

TEST_F(Cli, ExportWritesTheWeights) {
  const auto run = nlohmann::json::parse(muster(small_run({"--rounds", "1", "--json"})).out);
  const std::string dir = run["dir"];
  for (const char* name : {"w.npz", "w.safetensors", "w.onnx"}) {
    const std::string target = (scratch_.path() / name).string();
    EXPECT_EQ(muster({"export", dir, "--to", target}).status, 0);
    EXPECT_GT(std::filesystem::file_size(target), 4 * run["parameters"].get<std::size_t>());
  }
  const std::string onnx = slurp(scratch_.path() / "w.onnx");
  for (const char* part : {"muster", "logits", "classes", R"(["0","1")", "preparation", R"("source":"blobs")"}) {
    EXPECT_THAT(onnx, HasSubstr(part));
  }
  expect_error({"export", dir, "--to", "w.pickle"}, 2, HasSubstr("w.pickle"));
  for (const char* layout : {"torch", "muster"}) {
    expect_error({"export", dir, "--to", "w.onnx", "--layout", layout}, 2, HasSubstr("ONNX has a layout of its own"));
  }
}

TEST_F(Cli, AKilledRunResumesToTheSameSignature) {
  const Words settings{"--rounds",
                       "400",
                       "--json",
                       "--set",
                       "local.objective=control-variate",
                       "--set",
                       "aggregation.global=control-variate",
                       "--set",
                       "checkpoint-every=7"};
  const auto whole = nlohmann::json::parse(muster(small_run(settings)).out);
  Words words = small_run(settings);
  words.insert(words.begin(), MUSTER_BINARY);
  words[4] = (scratch_.path() / "killed").string();
  for (int attempt = 0; attempt < 3; ++attempt) {
    std::filesystem::remove_all(words[4]);
    const Process process(scratch_, words);
    // At some round: the record grows as rounds end.
    const std::uintmax_t wanted = 2000 + 9000 * static_cast<std::uintmax_t>(attempt);
    std::filesystem::path dir;
    for (int i = 0; i < 20000; ++i) {
      std::error_code ignored;
      if (std::filesystem::exists(words[4])) {
        for (const auto& entry : std::filesystem::directory_iterator(words[4], ignored)) {
          if (entry.is_directory(ignored)) dir = entry.path();  // beside it is the store
        }
      }
      if (!dir.empty() && std::filesystem::exists(dir / "rounds.jsonl") &&
          std::filesystem::file_size(dir / "rounds.jsonl", ignored) > wanted) {
        break;
      }
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    process.kill(SIGKILL);
    EXPECT_EQ(process.wait().status, 128 + SIGKILL);
    const Finished resumed = muster({"run", "--resume", dir.string(), "--quiet", "--json", "--threads", "2"});
    ASSERT_EQ(resumed.status, 0) << resumed.err;
    const auto json = nlohmann::json::parse(resumed.out);
    EXPECT_EQ(json["signature"], whole["signature"]);
    EXPECT_EQ(json["rounds"], 400);
    std::ifstream record(dir / "rounds.jsonl");
    EXPECT_EQ(std::count(std::istreambuf_iterator<char>(record), {}, '\n'), 400);
  }
}

// A run without an end that has recorded a round, to be stopped by the test.
class GoingOn : public Cli {
 protected:
  GoingOn()
      : process_(scratch_, {MUSTER_BINARY, "run", "fedavg", "--out", runs(), "--json", "--set", "data.source=blobs",
                            "--set", "data.clients=20", "--rounds", "100000000"}) {
    for (int i = 0; i < 20000 && !recorded(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_TRUE(recorded());
  }
  bool recorded() {
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(runs(), error)) {
      if (entry.is_directory(error)) dir_ = entry.path();
    }
    return !dir_.empty() && std::filesystem::exists(dir_ / "rounds.jsonl");
  }
  // With files of its own for what it prints.
  Finished beside(Words words) const {
    words.insert(words.begin(), MUSTER_BINARY);
    const ScratchFolder other;
    return Process(other, words).wait();
  }

  std::filesystem::path dir_;
  Process process_;
};

TEST_F(GoingOn, CtrlCSavesSaysHowToContinueAndExitsWith130) {
  process_.kill(SIGINT);
  const Finished finished = process_.wait();
  EXPECT_EQ(finished.status, 130) << finished.err;
  EXPECT_THAT(finished.err, HasSubstr("--resume"));
  EXPECT_EQ(nlohmann::json::parse(finished.out)["stopped"], "interrupted");
  EXPECT_TRUE(std::filesystem::exists(dir_ / "summary.json"));
}

TEST_F(GoingOn, TermSavesAndExitsWith143) {
  process_.kill(SIGTERM);
  const Finished finished = process_.wait();
  EXPECT_EQ(finished.status, 143) << finished.err;
  EXPECT_EQ(nlohmann::json::parse(finished.out)["stopped"], "interrupted");
}

TEST_F(Cli, ASecondCtrlCEndsAtOnce) {
  // A round that does not end.
  Words words = small_run({"--set", "local.steps=1000000000"});
  words.insert(words.begin(), MUSTER_BINARY);
  const Process process(scratch_, words);
  const auto said = [&] { return slurp(scratch_ / "stderr"); };
  for (int i = 0; i < 20000 && !std::filesystem::exists(runs()); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  process.kill(SIGINT);
  for (int i = 0; i < 20000 && said().empty(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_THAT(said(), HasSubstr("press Ctrl-C again to stop at once"));
  process.kill(SIGINT);
  const Finished finished = process.wait();
  EXPECT_EQ(finished.status, 128 + SIGINT);
  EXPECT_EQ(finished.out, "") << "no result";
}

TEST_F(GoingOn, ResumingItIsRefusedAndLeavesItAlone) {
  const Finished refused = beside({"run", "--resume", dir_.string(), "--quiet", "--json"});
  EXPECT_EQ(refused.status, 1);
  EXPECT_EQ(refused.out, "");
  EXPECT_EQ(std::count(refused.err.begin(), refused.err.end(), '\n'), 1) << refused.err;
  EXPECT_THAT(refused.err, AllOf(HasSubstr(dir_.string()), HasSubstr(fmt::format("process {} on ", process_.id())),
                                 HasSubstr("wait until it ends")));
  EXPECT_EQ(beside({"show", (dir_ / "recipe.toml").string()}).status, 0) << "readers need no lock";
  process_.kill(SIGKILL);
  process_.wait();
  const auto round = [&](const Finished& finished) { return nlohmann::json::parse(finished.out)["rounds"]; };
  const Finished resumed = beside({"run", "--resume", dir_.string(), "--quiet", "--json", "--set", "budget=1e-9"});
  ASSERT_EQ(resumed.status, 0) << resumed.err;
  EXPECT_GT(round(resumed), 0);
  // Every round once, in order: two writers would have mixed theirs.
  std::ifstream record(dir_ / "rounds.jsonl");
  std::uint64_t expected = 0;
  for (std::string line; std::getline(record, line);) EXPECT_EQ(nlohmann::json::parse(line)["round"], ++expected);
  EXPECT_EQ(round(resumed), expected);
  EXPECT_FALSE(std::filesystem::exists(dir_ / "lock"));
}

}  // namespace
}  // namespace muster
