// How long a process that looks for somebody has been looking in vain.
#include "deploy/silence.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

using namespace std::chrono_literals;

class SilenceTest : public testing::Test {
 protected:
  double after(Silence::Clock::duration passed) { return silence_.look(now_ += passed).count(); }

  Silence::Clock::time_point now_ = Silence::Clock::now();
  Silence silence_{now_};
};

TEST_F(SilenceTest, IsWhatPassesBetweenLooks) {
  for (int i = 0; i < 49; ++i) after(200ms);
  EXPECT_NEAR(after(200ms), 10, 1e-9);
}

TEST_F(SilenceTest, OfAProcessThatWasStoppedIsNotWhatPassedMeanwhile) {
  after(400ms);
  EXPECT_NEAR(after(10h), 0.9, 1e-9);
  EXPECT_NEAR(after(100ms), 1.0, 1e-9);
}

TEST_F(SilenceTest, EndsWhenSomebodyAnswers) {
  after(300ms);
  silence_.end();
  EXPECT_NEAR(after(200ms), 0.2, 1e-9);
}

}  // namespace
}  // namespace muster
