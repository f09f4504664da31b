// What a round is charged for, by a worked example: a network of 100 numbers and 6,000 operations a sample.
#include "engine/cost_meter.h"

namespace muster {
namespace {

CostSetting setting() {
  CostSetting made;
  made.options.device_gflops = 1e-3;   // a million operations a second
  made.options.server_in_mbps = 1e-3;  // a thousand bits a second
  made.options.server_out_mbps = 1e-3;
  made.objective = "plain";
  made.network = {.sample_flops = 6000, .values = 100};
  made.sent.model = 100;
  return made;
}

RoundRecord round_of(const CostSetting& with, std::size_t broadcast = 0, RoundRecord record = {}) {
  CostMeter meter(with);
  RoundTasks tasks;
  const auto models = make_group_models(0, {0});
  for (int round = 0; round < 2; ++round) {  // the second as the first: nothing is carried over
    RoundRecord fresh = record;
    meter.prepare(tasks);
    meter.set_round(3, 1, broadcast);
    GroupUpdate update;
    update.members = {{.client = {0}, .samples = 10, .samples_trained = 20, .visits = 1},
                      {.client = {1}, .samples = 10, .samples_trained = 10, .visits = 1}};
    update.dropped = {{{2}, DropReason::kFault}};
    meter.group(update);
    meter.end(*models, fresh);
    if (round == 1) return fresh;
  }
  return record;
}

TEST(CostMeter, CountsModelsBothWays) {
  const RoundRecord record = round_of(setting());
  EXPECT_EQ(record.bytes_down, 3u * 400);  // also to the one that dropped
  EXPECT_EQ(record.bytes_up, 2u * 400);
  EXPECT_EQ(record.links.client_server, 5u * 400);
  EXPECT_EQ(record.links.edge_cloud, 0u);
  EXPECT_DOUBLE_EQ(record.compute_s, 20 * 6000 / 1e6);  // of the slowest
  EXPECT_DOUBLE_EQ(record.comm_s, 5 * 400 * 8 / 1e3);
}

TEST(CostMeter, CountsWhatTravelsBesidesTheModel) {
  CostSetting more = setting();
  more.sent.payload = 50;
  const RoundRecord record = round_of(more, 25);
  EXPECT_EQ(record.bytes_down, 3u * 125 * 4);
  EXPECT_EQ(record.bytes_up, 2u * 150 * 4);
}

TEST(CostMeter, CountsNothingThatStaysWithTheClient) {
  CostSetting less = setting();
  less.sent = {.model = 60, .payload = 10, .kept_parameters = 15};
  const RoundRecord record = round_of(less, 25);
  EXPECT_EQ(record.bytes_down, 3u * (60 + 10) * 4);
  EXPECT_EQ(record.bytes_up, 2u * (60 + 10) * 4);
}

TEST(CostMeter, CountsProfilesThatWereTold) {
  RoundRecord told;
  told.bytes_up = 1000;
  told.bytes_down = 2000;
  told.profile_flops = 5e6;
  const RoundRecord record = round_of(setting(), 0, told);
  EXPECT_EQ(record.bytes_up, 1000u + 800);
  EXPECT_EQ(record.bytes_down, 2000u + 1200);
  EXPECT_DOUBLE_EQ(record.compute_s, 0.12 + 5);
}

TEST(CostMeter, EdgesAreOneMoreLink) {
  CostSetting edges = setting();
  edges.edges = true;
  EXPECT_EQ(round_of(edges).links.edge_cloud, 2u * 400);
}

TEST(CostMeter, AChainHandsTheModelOn) {
  CostSetting chain = setting();
  chain.in_sequence = true;
  const RoundRecord record = round_of(chain);
  EXPECT_GT(record.links.relay, 0u);
  EXPECT_DOUBLE_EQ(record.compute_s, 30 * 6000 / 1e6);  // one after the other
}

TEST(CostMeter, ClientsThatKeepTheirModelsSendNothing) {
  CostMeter meter(setting());
  RoundTasks tasks;
  RoundRecord record;
  meter.prepare(tasks);
  meter.set_round(1, 1, 0);
  GroupUpdate update;
  update.members = {{.client = {0}, .samples = 10, .samples_trained = 20, .visits = 1}};
  meter.group(update);
  const auto models = make_client_models({0});
  meter.end(*models, record);
  EXPECT_EQ(record.bytes_up + record.bytes_down, 0u);
  EXPECT_GT(record.compute_s, 0);
}

}  // namespace
}  // namespace muster
