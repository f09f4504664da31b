// Dropout in local training: the same task gives the same update in any solver, whatever it did before; another round,
// client or visit draws anew.
#include "solver/local_solver.h"
#include "solver/points.h"

namespace muster {
namespace {

class DropoutKeys : public ::testing::Test {
 protected:
  LocalSolver solver(ClientStates& states) {
    return LocalSolver(network_, data_, {.epochs = 3, .batch_size = 2}, Augmentation{}, *objective_, states, 3);
  }
  std::vector<float> train(LocalSolver& solver, std::uint32_t client, std::uint32_t round, std::uint32_t part) {
    auto reply = solver.train({.client = ClientId{client}, .round = round, .part = part, .model = start_});
    EXPECT_TRUE(reply.ok() && std::holds_alternative<LocalUpdate>(*reply));
    return std::get<LocalUpdate>(*std::move(reply)).model;
  }

  // All samples alike: the order of batches plays no part, so all that differs is what is dropped.
  Points data_{{std::vector<Point>(6, {1, 1, 0}), std::vector<Point>(6, {1, 1, 0})}, {}};
  std::shared_ptr<const Network> network_ = *make_network(
      {.name = "layers", .layers = LayerList{{"dense 30"}, {"dropout 0.5"}}}, data_.shape(), data_.classes());
  std::unique_ptr<Objective> objective_ = std::move(make_objective({})).value();
  std::vector<float> start_ = std::vector<float>(network_->size(), 0.1f);
};

TEST_F(DropoutKeys, EqualTasksGiveEqualUpdates) {
  ClientStates states{{}}, other_states{{}};
  LocalSolver one = solver(states), other = solver(other_states);
  const std::vector<float> update = train(one, 0, 4, 1);
  (void)train(other, 1, 2, 0);
  EXPECT_EQ(train(other, 0, 4, 1), update);
  EXPECT_EQ(train(one, 0, 4, 1), update);
}

TEST_F(DropoutKeys, EveryTaskDrawsAnew) {
  ClientStates states{{}};
  LocalSolver one = solver(states);
  const std::vector<float> update = train(one, 0, 4, 1);
  EXPECT_NE(train(one, 1, 4, 1), update);
  EXPECT_NE(train(one, 0, 5, 1), update);
  EXPECT_NE(train(one, 0, 4, 2), update);
}

}  // namespace
}  // namespace muster
