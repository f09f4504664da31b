#include "base/result.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace muster {
namespace {

Result<int> half(int n) {
  if (n % 2 != 0) return usage_error("n: {}, want an even number", n);
  return n / 2;
}

Result<std::string> quarter_text(int n) {
  MUSTER_ASSIGN(const int once, half(n));
  MUSTER_ASSIGN(const int twice, half(once));
  return fmt::format("{}", twice);
}

Status check_even(int n) {
  MUSTER_TRY(half(n));
  return {};
}

Status check_quarter(int n) {
  MUSTER_TRY(check_even(n));
  MUSTER_TRY(check_even(n / 2));
  return {};
}

TEST(Result, HoldsAValue) {
  const Result<int> result = half(6);
  ASSERT_TRUE(result.ok());
  EXPECT_TRUE(static_cast<bool>(result));
  EXPECT_EQ(*result, 3);
  EXPECT_EQ(result.value(), 3);
}

TEST(Result, HoldsAnErrorWithItsCode) {
  const Result<int> result = half(7);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, ErrorCode::kUsage);
  EXPECT_EQ(result.error().message, "n: 7, want an even number");
  EXPECT_EQ(Result<int>(failure("broken")).error().code, ErrorCode::kFailed);
}

TEST(Result, MovesAValueThatCannotBeCopied) {
  Result<std::unique_ptr<int>> result(std::make_unique<int>(5));
  ASSERT_TRUE(result.ok());
  const std::unique_ptr<int> taken = std::move(result).value();
  EXPECT_EQ(*taken, 5);
}

TEST(Result, ArrowReachesTheValue) {
  const Result<std::string> result(std::string("abc"));
  EXPECT_EQ(result->size(), 3u);
}

TEST(Result, AssignPassesOnTheFirstError) {
  EXPECT_EQ(*quarter_text(12), "3");
  EXPECT_EQ(quarter_text(5).error().message, "n: 5, want an even number");
  EXPECT_EQ(quarter_text(6).error().message, "n: 3, want an even number");
}

TEST(Result, TryPassesOnTheErrorOfResultsAndStatuses) {
  EXPECT_TRUE(check_quarter(8).ok());
  EXPECT_EQ(check_quarter(5).error().message, "n: 5, want an even number");
  EXPECT_EQ(check_quarter(6).error().message, "n: 3, want an even number");
  EXPECT_EQ(check_quarter(6).error().code, ErrorCode::kUsage);
}

TEST(Result, WithinAddsContextAndKeepsTheCode) {
  const Error error = usage_error("rounds: 0, want >= 1").within("my.toml:3");
  EXPECT_EQ(error.message, "my.toml:3: rounds: 0, want >= 1");
  EXPECT_EQ(error.code, ErrorCode::kUsage);
}

TEST(ResultDeathTest, TakingWhatIsNotThereIsABug) {
  EXPECT_DEATH(static_cast<void>(half(7).value()), "value\\(\\) of a failed result: n: 7, want an even number");
  EXPECT_DEATH(static_cast<void>(half(6).error()), "error\\(\\) of a result that has a value");
  EXPECT_DEATH(static_cast<void>(Status().error()), "error\\(\\) of a success");
}

TEST(CheckDeathTest, NamesFileConditionAndValues) {
  const int rows = 3;
  EXPECT_DEATH(MUSTER_CHECK(rows == 4, "{} != {}", rows, 4), "muster: bug: .*result_test.cc:[0-9]+: rows == 4: 3 != 4");
  MUSTER_CHECK(rows == 3, "not evaluated");
}

}  // namespace
}  // namespace muster
