#include "deploy/doorkeeper.h"

#include <gtest/gtest.h>

#include <vector>

namespace muster {
namespace {

using std::chrono::milliseconds;

class AtTheDoor : public testing::Test {
 protected:
  std::string enter(const std::string& serial, int ms, std::vector<ClientRange> clients = {}) {
    auto pass =
        door_->enter({.name = serial, .clients = std::move(clients), .serial = serial}, start_ + milliseconds(ms));
    if (!pass) return pass.error().message;
    in_.push_back(std::move(pass).value());
    return "";
  }
  std::shared_ptr<Doorkeeper> door_ = std::make_shared<Doorkeeper>();
  Doorkeeper::Time start_ = std::chrono::steady_clock::now();
  std::vector<std::shared_ptr<Doorkeeper::Pass>> in_;
};

TEST_F(AtTheDoor, ACertificateHasFewConnections) {
  for (int i = 0; i < 4; ++i) EXPECT_EQ(enter("a", 0), "");
  EXPECT_EQ(enter("a", 0), "client a has 4 connections already, want at most 4");
  EXPECT_EQ(enter("b", 0), "") << "another one has its own";
  in_.erase(in_.begin());
  EXPECT_EQ(enter("a", 0), "") << "one has left";
}

TEST_F(AtTheDoor, OneThatStandsForManyMayHaveAConnectionForEach) {
  for (int i = 0; i < 13; ++i) EXPECT_EQ(enter("sim", 0, {{0, 3}, {10, 15}}), "");
  EXPECT_EQ(enter("sim", 0, {{0, 3}, {10, 15}}), "client sim has 13 connections already, want at most 13");
}

TEST_F(AtTheDoor, ACertificateDialsAgainButNotAllTheTime) {
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(enter("a", i), "");
    in_.clear();
  }
  EXPECT_EQ(enter("a", 100), "client a dials too often, want at most 2 times a second");
  EXPECT_EQ(enter("b", 100), "");
  in_.clear();
  EXPECT_EQ(enter("a", 700), "") << "and is let in when it has waited";
  in_.clear();
  EXPECT_NE(enter("a", 700), "");
  EXPECT_NE(enter("a", 0), "") << "a clock that goes back gives nothing";
}

}  // namespace
}  // namespace muster
