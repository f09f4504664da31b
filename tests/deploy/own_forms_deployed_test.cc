// Data of clients' own that are no tables of numbers: arrays of images, texts. Behind edges, and with the signature of
// one file of all rows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "deploy/own_deployment.h"
#include "engine/run_records.h"
#include "record/weights_file.h"

namespace muster {
namespace {

class OwnForms : public SimulationTest {
 protected:
  static constexpr std::uint32_t kSites = 3;

  // Both ways; `files`: of the clients "0", "1", ... .
  void expect_the_same(const Settings& settings, const std::vector<std::filesystem::path>& files,
                       const std::filesystem::path& all) {
    const Recipe wanted = recipe_of({{fmt::format("data.clients={}", kSites), "evaluation.on=clients", "rounds=3",
                                      "local.batch-size=8", "plan.sample-clients=2"},
                                     settings});
    Recipe whole = wanted;
    whole.data.path = all.string();
    const RunSummary simulation = run(whole);
    OwnDeployment deployment(states_.path(), 2);
    for (std::uint32_t site = 0; site < kSites; ++site) deployment.dial(std::to_string(site), files[site]);
    const auto summary = deployment.run(wanted, options(1));
    ASSERT_TRUE(summary.ok()) << summary.error().message;
    EXPECT_EQ(summary->signature, simulation.signature);
    EXPECT_EQ(slurp(summary->dir / "clients.csv"), slurp(simulation.dir / "clients.csv"));
  }

  ScratchFolder states_;
};

TEST_F(OwnForms, ArraysOfImages) {
  constexpr std::uint32_t kPixels = 6 * 6 * 2;
  struct Rows {
    std::vector<float> x, y, client;
    [[nodiscard]] std::filesystem::path write(const std::filesystem::path& path, bool with_client) const {
      const auto rows = static_cast<std::uint32_t>(y.size());
      std::vector<float> flat = x;
      std::vector<ParameterTensor> arrays{{"x", {rows, 6, 6, 2}, {0, x.size()}}, {"y", {rows}, {x.size(), rows}}};
      flat.insert(flat.end(), y.begin(), y.end());
      if (with_client) {
        arrays.push_back({"client", {rows}, {flat.size(), rows}});
        flat.insert(flat.end(), client.begin(), client.end());
      }
      EXPECT_TRUE(write_npz(path, arrays, flat).ok());
      return path;
    }
  };
  Rows all;
  std::vector<std::filesystem::path> files;
  for (std::uint32_t site = 0; site < kSites; ++site) {
    std::mt19937 random(site + 1);
    std::normal_distribution<float> normal;
    Rows own;
    for (std::uint32_t row = 0; row < 15 + 9 * site; ++row) {
      own.y.push_back(static_cast<float>((row + site) % 3));
      own.client.push_back(static_cast<float>(site));
      for (std::uint32_t i = 0; i < kPixels; ++i) own.x.push_back(normal(random) + own.y.back() + 5 * (i % 2));
    }
    files.push_back(own.write(folder_.path() / fmt::format("{}.npz", site), false));
    all.x.insert(all.x.end(), own.x.begin(), own.x.end());
    all.y.insert(all.y.end(), own.y.begin(), own.y.end());
    all.client.insert(all.client.end(), own.client.begin(), own.client.end());
  }
  const Settings cnn{"data.source=npz", "data.normalize=true",          "model.name=cnn",     "model.channels=[3]",
                     "model.kernel=3",  "data.validation-fraction=0.2", "data.client=client", "data.test-fraction=0.2"};
  expect_the_same(cnn, files, all.write(folder_.path() / "all.npz", true));
}

TEST_F(OwnForms, TextsWithLabelsThatAreWords) {
  const std::vector<std::string> words{"good", "fine", "bad", "poor", "film", "plot", "the", "a"};
  std::string all = "client,review,mood\n";
  std::vector<std::filesystem::path> files;
  std::mt19937 random(7);
  for (std::uint32_t site = 0; site < kSites; ++site) {
    std::string own = "review,mood\n";
    for (std::uint32_t row = 0; row < 20 + 5 * site; ++row) {
      const bool glad = random() % 2 == 0;
      std::string text = words[random() % 2 + (glad ? 0 : 2)];
      for (std::uint32_t i = 0; i < random() % 5; ++i) text += " " + words[4 + random() % 4];
      own += fmt::format("{},{}\n", text, glad ? "glad" : "sad");
      all += fmt::format("{},{},{}\n", site, text, glad ? "glad" : "sad");
    }
    files.push_back(folder_.write(fmt::format("{}.csv", site), own));
  }
  std::string vocabulary;
  for (const std::string& word : words) vocabulary += word + "\n";
  const std::filesystem::path tokens = folder_.write("tokens.txt", vocabulary);
  expect_the_same(
      {"data.source=csv", "data.text=review", "data.label=mood", "data.tokens=words", "data.words=5",
       "data.vocabulary=" + tokens.string(), "model.name=layers", R"(model.layers=["embedding 4", "lstm 6"])"},
      files, folder_.write("all.csv", all));
}

}  // namespace
}  // namespace muster
