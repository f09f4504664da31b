// All that a store tells, as text: two stores that know the same have the same.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "record/json_text.h"
#include "store/run_json.h"
#include "store/store.h"

namespace muster {

inline std::string store_contents(const Store& store) {
  std::string text;
  const auto runs = store.list({.order = RunOrder::kName});
  EXPECT_TRUE(runs.ok()) << runs.error().message;
  for (const StoredRun& run : runs.ok() ? *runs : std::vector<StoredRun>{}) {
    text += json_text(run_json(run)) + "\n";
    text += fmt::format("{} {} {} {} {} {} {}\n", run.bytes, run.cost_s, run.wall_s, run.begun_s, run.changed_s,
                        run.stopped, run.signature);
    const auto recipe = *store.recipe(run.id);
    for (const auto& [key, value] : recipe) text += key + "=" + value + "\n";
    const auto rounds = *store.rounds(run.id);
    for (const StoredRound& r : rounds) {
      text +=
          fmt::format("round {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {}\n", r.round, r.accuracy.value_or(-1),
                      r.loss.value_or(-1), r.train_loss.value_or(-1), r.client_accuracy.value_or(-1),
                      r.validation_accuracy.value_or(-1), r.participants, r.dropped, r.groups, r.idle, r.models,
                      r.bytes_up, r.bytes_down, r.bytes_total, r.cost_s, r.cost_total_s, r.wall_s);
    }
    const auto groupings = *store.groupings(run.id);
    for (const StoredGrouping& g : groupings) {
      text += fmt::format("grouping {} {} {} {} {} {} {} {} {}", g.round, g.method, g.why, g.groups, g.idle,
                          g.cov_mean.value_or(-1), g.cpd_median.value_or(-1), g.offset, g.bytes);
      for (const std::uint32_t size : g.sizes) text += fmt::format(" {}", size);
      text += "\n";
    }
    const auto clients = *store.clients(run.id);
    for (const StoredClient& c : clients) {
      text += fmt::format("client {} {} {} {} {} {} {} {}\n", c.client, c.name, c.samples.value_or(0),
                          c.group ? static_cast<int>(*c.group) : -1, c.trained, c.dropped, c.accuracy.value_or(-1),
                          c.test_samples.value_or(0));
    }
  }
  return text;
}

// What the store of the folder would tell if it were made anew.
inline std::string contents_made_anew(const std::filesystem::path& out) {
  const std::filesystem::path file = out / kStoreFile;
  const std::filesystem::path kept = out.string() + "-kept.sqlite";
  for (const char* ending : {"", "-wal", "-shm"}) {
    if (std::filesystem::exists(file.string() + ending)) {
      std::filesystem::rename(file.string() + ending, kept.string() + ending);
    }
  }
  std::string text;
  {
    Result<Store> anew = Store::open_file(out);
    EXPECT_TRUE(anew.ok()) << anew.error().message;
    EXPECT_TRUE(anew->refresh(Look::kAfresh).ok());
    text = store_contents(*anew);
  }
  for (const char* ending : {"", "-wal", "-shm"}) {
    std::filesystem::remove(file.string() + ending);
    if (std::filesystem::exists(kept.string() + ending)) {
      std::filesystem::rename(kept.string() + ending, file.string() + ending);
    }
  }
  return text;
}

}  // namespace muster
