// Run folders made by hand, as small as they can be, and a store over them.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "scratch_folder.h"
#include "store/store.h"

namespace muster {

class RunScene : public testing::Test {
 protected:
  std::filesystem::path out() const { return scratch_.path() / "runs"; }
  std::filesystem::path folder(const std::string& id) const { return out() / id; }

  void write(const std::string& id, const std::string& file, const std::string& text) const {
    std::filesystem::create_directories(folder(id));
    std::ofstream(folder(id) / file, std::ios::binary) << text;
  }
  void append(const std::string& id, const std::string& file, const std::string& text) const {
    std::ofstream(folder(id) / file, std::ios::binary | std::ios::app) << text;
  }
  static std::string round_line(std::uint32_t round, double accuracy) {
    return fmt::format(
        R"({{"round":{},"accuracy":{},"loss":1.5,"train_loss":2.5,"participants":3,"dropped":[{{"client":1,"reason":"x"}}],)"
        R"("groups":2,"idle":1,"models":1,"bytes_up":10,"bytes_down":20,"cost_s":0.5,"cost_total_s":{},"wall_s":0.25}})"
        "\n",
        round, accuracy, 0.5 * round);
  }
  // A run that has made so many rounds of ten.
  void make_run(const std::string& id, std::uint32_t rounds, const std::string& recipe = "made") const {
    write(id, "recipe.toml",
          fmt::format("name = \"{}\"\nrounds = 10\nseed = 7\n[data]\nalpha = 0.5\n[model]\nname = \"cnn\"\n", recipe));
    for (std::uint32_t r = 1; r <= rounds; ++r) append(id, "rounds.jsonl", round_line(r, 0.1 * r));
  }
  static std::string summary_text(const std::string& id, std::uint32_t rounds, const std::string& stopped = "rounds") {
    return fmt::format(
        R"({{"run":"{}","recipe":"made","seed":7,"rounds":{},"stopped":"{}","signature":"00000000000000ff",)"
        R"("accuracy":{{"last":0.75,"best":0.8,"best_round":2}},"loss":{{"last":0.5}},"clients":4,)"
        R"("groups":{{"count":2}},"time":{{"wall_s":9.5}},"dir":"elsewhere","data":"in words"}})"
        "\n",
        id, rounds, stopped);
  }

  Store opened() const {
    Result<Store> store = Store::open_file(out());
    EXPECT_TRUE(store.ok()) << store.error().message;
    refresh(*store);
    return std::move(store).value();
  }
  static StoreUpdate refresh(Store& store, Look look = Look::kClose) {
    const Result<StoreUpdate> update = store.refresh(look);
    EXPECT_TRUE(update.ok()) << update.error().message;
    return update.ok() ? *update : StoreUpdate{};
  }
  static std::vector<std::string> ids(const Store& store, const RunFilter& filter = {}) {
    std::vector<std::string> names;
    const std::vector<StoredRun> runs = *store.list(filter);
    for (const StoredRun& run : runs) names.push_back(run.id);
    return names;
  }

  ScratchFolder scratch_;
};

}  // namespace muster
