// Every field of a record is written from its own value: all values differ.
#include "record/run_record.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

namespace muster {
namespace {

using Json = nlohmann::json;

TEST(RunRecord, OfARoundSaysEveryNumberUnderItsName) {
  RoundRecord record{.round = 1, .accuracy = 0.25, .loss = 2.5, .client_accuracy = 0.5, .covered = 0.75};
  record.train_loss = 3.5;
  record.participants = 4;
  record.dropped = {{{5}, DropReason::kStraggler}, {{6}, DropReason::kNonFinite}};
  record.groups = 7;
  record.idle = 8;
  record.models = 9;
  record.discrepancy = 1.5;
  record.loss_variance = 20;
  record.epochs = {.min = 1, .mean = 21, .max = 22, .clients = {{.client = 23, .samples = 24, .epochs = 25.5}}};
  record.group_accuracy = {0.125, NAN};
  record.bytes_up = 10;
  record.bytes_down = 11;
  record.links = {.client_server = 12, .relay = 13, .edge_cloud = 14};
  record.compute_s = 15;
  record.comm_s = 16;
  record.cost_total_s = 17;
  record.profile_flops = 18;
  record.wall_s = 19;
  EXPECT_EQ(Json::parse(to_json(record)), Json::parse(R"({
    "round": 1, "accuracy": 0.25, "loss": 2.5, "client_accuracy": 0.5, "covered": 0.75, "train_loss": 3.5,
    "participants": 4, "dropped": [{"client": 5, "reason": "straggler"}, {"client": 6, "reason": "non-finite"}],
    "groups": 7, "idle": 8, "models": 9, "discrepancy": 1.5, "group_accuracy": [0.125, null],
    "loss_variance": 20.0,
    "epochs": {"min": 1.0, "mean": 21.0, "max": 22.0, "clients": [{"client": 23, "samples": 24, "epochs": 25.5}]},
    "bytes_up": 10, "bytes_down": 11, "bytes_client_server": 12, "bytes_relay": 13, "bytes_edge_cloud": 14,
    "compute_s": 15.0, "comm_s": 16.0, "cost_s": 31.0, "cost_total_s": 17.0, "wall_s": 19.0})"));
}

TEST(RunRecord, OfARoundLeavesOutOrNullsWhatThereIsNot) {
  const Json json = Json::parse(to_json(RoundRecord{.round = 1, .loss = std::numeric_limits<double>::infinity()}));
  for (const char* field : {"accuracy", "loss", "train_loss", "discrepancy"}) EXPECT_TRUE(json[field].is_null());
  for (const char* field : {"covered", "client_accuracy", "group_accuracy", "loss_variance", "epochs"}) {
    EXPECT_FALSE(json.contains(field)) << field;
  }
  EXPECT_EQ(json["dropped"], Json::array());
  RoundRecord many{.round = 1};
  many.epochs = {.min = 1, .mean = 2, .max = 3, .clients = {}};
  EXPECT_EQ(Json::parse(to_json(many))["epochs"], Json({{"min", 1.0}, {"mean", 2.0}, {"max", 3.0}}));
}

TEST(RunRecord, OfARunSaysEveryNumberUnderItsName) {
  RunSummary summary;
  summary.accuracy_last = 0.5;
  summary.accuracy_best = 0.75;
  summary.best_round = 3;
  summary.evaluated_round = 4;
  summary.loss_last = 1.25;
  summary.target_round = 5;
  summary.compute_s = 1;
  summary.comm_s = 2;
  summary.bytes_up = 33;
  summary.bytes_down = 34;
  summary.links = {.client_server = 35, .relay = 36, .edge_cloud = 37};
  summary.samples_trained = 80;
  summary.wall_s = 9;
  summary.train_s = 10;
  summary.eval_s = 11;
  summary.group_s = 12;
  summary.setup_s = 28;
  summary.profile_s = 30;
  summary.run = "id";
  summary.recipe = "name";
  summary.seed = 13;
  summary.rounds = 14;
  summary.stopped = StopReason::kTarget;
  summary.signature = "abc";
  summary.target_accuracy = 0.625;
  summary.clients = 15;
  summary.models = 16;
  summary.groups = 17;
  summary.idle = 18;
  summary.group_size_min = 19;
  summary.group_size_mean = 20;
  summary.group_size_max = 21;
  summary.quality = {
      .cov_mean = 22, .cpd_median = 23, .cpd_low = 40.5, .cpd_high = 41.5, .balance_ratio = 24, .covered_classes = 25};
  summary.client_quality = {.cov_mean = 90, .cpd_median = 42.5, .cpd_low = 43.5, .cpd_high = 44.5};
  summary.peak_rss_bytes = 26;
  summary.dir = "runs/id";
  summary.data = "blobs";
  summary.parameters = 27;
  summary.initial_model = "0123456789abcdef";
  summary.kept_round = 38;
  summary.validated = true;
  summary.validation_best = 0.875;
  summary.validation_best_round = 6;
  summary.sites = {.evaluated = 39,
                   .accuracy = 0.125,
                   .spread = AccuracySpread{.worst = 0.25, .p10 = 0.375, .p50 = 0.5625, .p90 = 0.6875},
                   .worst_client = 40,
                   .worst_name = "Mary",
                   .skipped = "why"};
  EXPECT_EQ(Json::parse(to_json(summary)), Json::parse(R"({
    "run": "id", "recipe": "name", "seed": 13, "rounds": 14, "stopped": "target", "signature": "abc",
    "accuracy": {"last": 0.5, "best": 0.75, "best_round": 3}, "loss": {"last": 1.25},
    "target": {"accuracy": 0.625, "round": 5}, "clients": 15, "models": 16,
    "groups": {"count": 17, "idle": 18, "size_min": 19.0, "size_mean": 20.0, "size_max": 21.0},
    "quality": {"cov_mean": 22.0, "cpd_median": 23.0, "cpd_low": 40.5, "cpd_high": 41.5, "client_cpd_median": 42.5,
                "client_cpd_low": 43.5, "client_cpd_high": 44.5, "balance_ratio": 24.0, "covered_classes": 25.0},
    "cost": {"compute_s": 1.0, "comm_s": 2.0, "bytes_up": 33, "bytes_down": 34, "bytes_client_server": 35,
             "bytes_relay": 36, "bytes_edge_cloud": 37, "group_s": 12.0},
    "time": {"wall_s": 9.0, "setup_s": 28.0, "profile_s": 30.0, "group_s": 12.0, "train_s": 10.0, "eval_s": 11.0, "samples_trained": 80, "samples_per_s": 2.0},
    "peak_rss_bytes": 26, "dir": "runs/id", "data": "blobs", "parameters": 27,
    "initial_model": "0123456789abcdef", "kept_round": 38, "validation": {"best": 0.875, "best_round": 6}, "metrics": null,
    "sites": {"evaluated": 39, "accuracy": 0.125, "worst": 0.25, "worst_client": "Mary", "p10": 0.375, "p50": 0.5625,
              "p90": 0.6875, "skipped": "why"}})"));
}

TEST(RunRecord, OfARunKnowsWhatItDoesNotKnow) {
  const Json json = Json::parse(to_json(RunSummary{}));
  EXPECT_TRUE(json["accuracy"]["best"].is_null());
  EXPECT_TRUE(json["target"]["round"].is_null());
  EXPECT_EQ(json["time"]["samples_per_s"], 0.0);
}

TEST(RunRecord, EveryReasonToStopHasItsWord) {
  EXPECT_EQ(name(StopReason::kRounds), "rounds");
  EXPECT_EQ(name(StopReason::kTarget), "target");
  EXPECT_EQ(name(StopReason::kBudget), "budget");
  EXPECT_EQ(name(StopReason::kDiverged), "diverged");
  EXPECT_EQ(name(StopReason::kInterrupted), "interrupted");
}

}  // namespace
}  // namespace muster
