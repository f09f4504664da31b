#include "cost/cost.h"

#include <gtest/gtest.h>

#include <cmath>

#include "plan/schedule.h"

namespace muster {
namespace {

// The devices, network and clients of FedGSP's paper.
const ChainConstants kPaper{.sample_flops = 96e6,
                            .merge_flops = 6.3e6,
                            .model_bytes = 25.2e6,
                            .device_flops_per_s = 567e9,
                            .server_in_bits_per_s = 567e6,
                            .server_out_bits_per_s = 567e6};
ChainRound paper_round(double groups) {
  return {.clients = 368, .groups = groups, .share = 0.3, .samples_trained = 226};
}

TEST(ChainCost, FollowsTheWorkedExample) {
  const auto local_s = [](double groups) {
    ChainConstants constants = kPaper;
    constants.merge_flops = 0;
    return chain_compute_s(constants, paper_round(groups));
  };
  EXPECT_NEAR(local_s(10), 1.408135, 1e-6);
  EXPECT_NEAR(local_s(368), 0.0382646, 1e-7);

  double grouped_compute = 0;
  const GroupSchedule log{.growth = "log", .alpha = 2, .beta = 10};
  for (std::uint32_t round = 1; round <= 34; ++round) {
    grouped_compute += chain_compute_s(kPaper, paper_round(scheduled_groups(log, round, 368)));
  }
  EXPECT_NEAR(grouped_compute, 10.1899, 1e-4);
  const double flat_compute = 470 * chain_compute_s(kPaper, paper_round(368));
  EXPECT_NEAR(flat_compute, 18.5556, 1e-4);

  const double comm = chain_comm_s(kPaper, paper_round(10));
  EXPECT_NEAR(comm, 78.5067, 1e-4);
  EXPECT_EQ(comm, chain_comm_s(kPaper, paper_round(368)));
  EXPECT_NEAR(34 * comm, 2669.227, 1e-3);
  EXPECT_NEAR(470 * comm, 36898.13, 1e-2);
  EXPECT_NEAR((grouped_compute + 34 * comm) / (flat_compute + 470 * comm), 0.07258, 1e-5);
}

TEST(ChainCost, FewerGroupsThanTwoNeedNoAdditions) {
  EXPECT_EQ(chain_compute_s(kPaper, {.clients = 4, .groups = 2, .share = 0.5}), 0);
  EXPECT_EQ(chain_compute_s(kPaper, {.clients = 0, .groups = 0}), 0);
  // More groups than clients: chains of one.
  EXPECT_EQ(chain_compute_s(kPaper, {.clients = 4, .groups = 8, .share = 0.1, .samples_trained = 10}),
            chain_compute_s(kPaper, {.clients = 4, .groups = 4, .share = 0.1, .samples_trained = 10}));
}

// Members with 110 samples each.
GroupWork group_of(std::uint32_t members, std::uint32_t visits, std::uint64_t epochs) {
  GroupWork group{.size = members, .members = {}};
  for (std::uint32_t k = 0; k < members; ++k) {
    group.members.push_back(
        {.client = {k}, .samples = 110, .samples_trained = 110 * epochs * visits, .visits = visits});
  }
  return group;
}

TEST(GroupOperations, FollowTheWorkedExample) {
  const OperationCoefficients cifar = operation_coefficients({.model = "group-operations"}, "plain");
  EXPECT_NEAR(cifar.operation_s(5), 0.843161, 1e-6);
  EXPECT_NEAR(cifar.operation_s(10), 1.946734, 1e-6);
  EXPECT_NEAR(cifar.operation_s(15), 3.865144, 1e-6);
  EXPECT_NEAR(cifar.operation_s(20), 6.598392, 1e-6);
  EXPECT_NEAR(cifar.epoch_s(110), 7.797156, 1e-6);

  RoundWork work{.drawn = {group_of(5, 5, 2)}};
  const CostOptions options{.model = "group-operations"};
  EXPECT_NEAR(round_cost(options, "plain", {}, work).compute_s, 410.936812, 1e-6);
  work.drawn.assign(12, group_of(5, 5, 2));
  const RoundCost round = round_cost(options, "plain", {}, work);
  EXPECT_NEAR(round.compute_s, 4931.24, 1e-2);
  EXPECT_EQ(round.comm_s, 0);
  EXPECT_EQ(std::ceil(1e6 / round.compute_s), 203);  // the round that exceeds the budget
}

TEST(GroupOperations, AreNeverNegative) {
  const OperationCoefficients cifar = operation_coefficients({.model = "group-operations"}, "plain");
  EXPECT_EQ(cifar.epoch_s(0), 0);
  EXPECT_EQ(
      (OperationCoefficients{.quadratic = 0.00548707, .linear = 0.0038231, .constant = -0.06900253}.operation_s(2)), 0);
}

TEST(GroupOperations, DependOnTaskObjectiveAndWhatIsGiven) {
  const auto epoch_s = [](const CostOptions& options, const char* objective) {
    return operation_coefficients(options, objective).epoch_s(100);
  };
  const CostOptions cifar{.model = "group-operations"};
  const CostOptions speech{.model = "group-operations", .task = "speech"};
  EXPECT_NEAR(epoch_s(cifar, "prox"), 6.86130439, 1e-8);
  EXPECT_NEAR(epoch_s(cifar, "control-variate"), 7.12125722, 1e-8);
  EXPECT_NEAR(epoch_s(speech, "plain"), 0.34575852, 1e-8);
  EXPECT_NEAR(epoch_s(speech, "prox"), 0.35425903, 1e-8);
  EXPECT_NEAR(epoch_s(speech, "control-variate"), 0.36106285, 1e-8);
  EXPECT_NEAR(operation_coefficients(cifar, "control-variate").operation_s(5), 1.60742589, 1e-8);
  EXPECT_NEAR(operation_coefficients(speech, "plain").operation_s(5), 0.41848407, 1e-8);
  EXPECT_NEAR(operation_coefficients(speech, "control-variate").operation_s(5), 0.52336015, 1e-8);
  EXPECT_EQ(operation_coefficients(speech, "prox").operation_s(5),
            operation_coefficients(speech, "plain").operation_s(5));
  CostOptions given = cifar;
  given.training_slope = 2;
  given.operation_quadratic = given.operation_linear = 0;
  given.operation_constant = 0.25;
  EXPECT_NEAR(epoch_s(given, "plain"), 200 - 0.00559966, 1e-8);
  EXPECT_EQ(operation_coefficients(given, "plain").operation_s(40), 0.25);
}

TEST(GroupOperations, WhoDroppedCostsNothing) {
  GroupWork whole = group_of(4, 1, 1);
  GroupWork rest = whole;
  rest.members.pop_back();
  const OperationCoefficients cifar = operation_coefficients({.model = "group-operations"}, "plain");
  EXPECT_NEAR(group_operations_s(cifar, {rest}), 0.75 * group_operations_s(cifar, {whole}), 1e-9);
  EXPECT_EQ(group_operations_s(cifar, {{.size = 4, .members = {}}}), 0);
}

TEST(Cost, RefusesConstantsOfAnotherModel) {
  const auto message = [](const CostOptions& options, const char* objective = "plain") {
    const Status status = check_cost(options, objective);
    return status ? std::string() : status.error().message;
  };
  using testing::HasSubstr;
  EXPECT_EQ(message({}), "");
  EXPECT_THAT(message({.task = "speech"}), HasSubstr("cost.task"));
  EXPECT_THAT(message({.operation_linear = 1.0}), HasSubstr("cost.operation-linear"));
  EXPECT_THAT(message({.model = "chain", .training_slope = 1.0}), HasSubstr("cost.training-slope"));
  EXPECT_THAT(message({.model = "group-operations", .model_mbytes = 1.0}), HasSubstr("cost.model-mbytes"));
  // Nobody measured dynamic regularisation: all five must be given.
  EXPECT_THAT(message({.model = "group-operations", .operation_quadratic = 0.0}, "dynamic"),
              HasSubstr("cost.operation-linear"));
  EXPECT_EQ(message({.model = "group-operations",
                     .operation_quadratic = 0.0,
                     .operation_linear = 0.0,
                     .operation_constant = 0.0,
                     .training_slope = 0.1,
                     .training_constant = 0.0},
                    "dynamic"),
            "");
}

// Two groups: three members of which one dropped, two of which all did.
RoundWork work_with_drops() {
  GroupWork some = group_of(3, 2, 1);
  some.members.pop_back();
  return {.visits = 2,
          .drawn = {some, {.size = 2, .members = {}}},
          .download_bytes = 100,
          .upload_bytes = 10,
          .profile_bytes_down = 7,
          .profile_bytes_up = 3};
}

TEST(Bytes, AreCountedByLink) {
  RoundWork work = work_with_drops();
  RoundBytes bytes = count_bytes(work);
  EXPECT_EQ(bytes.down, 7u + 2 * 5 * 100);
  EXPECT_EQ(bytes.up, 3u + 2 * 2 * 10);
  EXPECT_EQ(bytes.links.client_server, bytes.down + bytes.up);
  EXPECT_EQ(bytes.links.relay, 0u);
  EXPECT_EQ(bytes.links.edge_cloud, 0u);

  work.in_sequence = true;
  const RoundBytes chain = count_bytes(work);
  EXPECT_EQ(chain.down, bytes.down);
  EXPECT_EQ(chain.up, bytes.up);
  EXPECT_EQ(chain.links.client_server, 7u + 3 + 2 * 100 + 10);
  EXPECT_EQ(chain.links.relay, (5u + 3) * 100 + 3 * 10);

  work.edges = true;
  EXPECT_EQ(count_bytes(work).links.edge_cloud, 2u * 100 + 10);
  work = work_with_drops();
  work.keeps_models = true;
  EXPECT_EQ(count_bytes(work).down, 7u);
  EXPECT_EQ(count_bytes(RoundWork{}).up, 0u);
}

TEST(LinkCost, IsTheCriticalPathAndAllBytes) {
  const CostOptions options{.device_gflops = 1, .server_in_mbps = 2, .server_out_mbps = 4};
  const NetworkSize network{.sample_flops = 1e6, .values = 1000};
  RoundWork work{.drawn = {group_of(3, 1, 1), group_of(2, 1, 2)}, .download_bytes = 500, .upload_bytes = 250};
  work.profile_flops = 5e6;
  EXPECT_NEAR(round_cost(options, "plain", network, work).compute_s, (5e6 + 220e6 + 1000) / 1e9, 1e-12);
  EXPECT_NEAR(round_cost(options, "plain", network, work).comm_s, 8 * (5 * 500 / 4e6 + 5 * 250 / 2e6), 1e-12);
  work.in_sequence = true;
  EXPECT_NEAR(round_cost(options, "plain", network, work).compute_s, (5e6 + 440e6 + 1000) / 1e9, 1e-12);
}

TEST(LinkCost, AddsUpOnlyModelsThatCameAndAreMerged) {
  const CostOptions options{.device_gflops = 1};
  const NetworkSize network{.sample_flops = 1e6, .values = 1000};
  RoundWork work{.drawn = {group_of(1, 1, 1), group_of(1, 1, 1), group_of(1, 1, 1)}};
  const auto compute_s = [&] { return round_cost(options, "plain", network, work).compute_s; };
  EXPECT_NEAR(compute_s(), (110e6 + 2 * 1000) / 1e9, 1e-12);
  work.drawn[1].members.clear();
  EXPECT_NEAR(compute_s(), (110e6 + 1000) / 1e9, 1e-12);
  work.drawn[2].members.clear();
  EXPECT_NEAR(compute_s(), 110e6 / 1e9, 1e-12);
  work.drawn.assign(3, group_of(1, 1, 1));
  work.keeps_models = true;
  EXPECT_NEAR(compute_s(), 110e6 / 1e9, 1e-12);
}

// Half of four chains of three, each member twice over its 110 samples.
TEST(ChainCost, OfARoundIsTheClosedFormOfWhatItDid) {
  CostOptions options{.model = "chain", .device_gflops = 1, .server_in_mbps = 2, .server_out_mbps = 4};
  const NetworkSize network{.sample_flops = 1e6, .values = 1000};
  RoundWork work{.in_sequence = true, .clients = 12, .groups = 4, .visits = 2};
  work.drawn = {group_of(3, 2, 1), group_of(3, 2, 1)};
  const double per_byte = 8 * 0.5 * 12 * 2 * (1 / 2e6 + 1 / 4e6);
  RoundCost cost = round_cost(options, "plain", network, work);
  EXPECT_NEAR(cost.compute_s, (1e6 * 220 * 3 + 1000) / 1e9, 1e-12);
  EXPECT_NEAR(cost.comm_s, per_byte * 4000, 1e-12);
  // Samples are a mean over those that trained.
  work.drawn[0].members.pop_back();
  EXPECT_NEAR(round_cost(options, "plain", network, work).compute_s, cost.compute_s, 1e-12);

  options.sample_mflop = 2;
  options.merge_mflop = 3;
  options.model_mbytes = 0.5;
  cost = round_cost(options, "plain", network, work);
  EXPECT_NEAR(cost.compute_s, (2e6 * 220 * 3 + 3e6) / 1e9, 1e-12);
  EXPECT_NEAR(cost.comm_s, per_byte * 0.5e6, 1e-9);

  work.keeps_models = true;
  cost = round_cost(options, "plain", network, work);
  EXPECT_NEAR(cost.compute_s, 2e6 * 220 * 3 / 1e9, 1e-12);
  EXPECT_EQ(cost.comm_s, 0);
  work = {};
  EXPECT_EQ(round_cost(options, "plain", network, work).compute_s, 0);
}

}  // namespace
}  // namespace muster
