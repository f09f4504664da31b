#include "cost/measured_costs.h"

#include "cost/cost_defaults.h"

namespace muster {
namespace {

using testing::HasSubstr;

FittedCurve curve(double quadratic, double linear, double constant) {
  return {quadratic, linear, constant};
}

TEST(FittedCurve, FindsAQuadraticThatWasMadeUp) {
  const FittedCurve truth = curve(0.01629675, -0.02373668, 0.55442565);
  std::vector<double> sizes;
  std::vector<double> seconds;
  for (const double size : {4.0, 8.0, 16.0, 24.0, 32.0, 48.0}) {
    sizes.push_back(size);
    seconds.push_back(truth.at(size));
  }
  const FittedCurve found = fit_quadratic(sizes, seconds);
  EXPECT_NEAR(found.quadratic, truth.quadratic, 1e-12);
  EXPECT_NEAR(found.linear, truth.linear, 1e-11);
  EXPECT_NEAR(found.constant, truth.constant, 1e-10);
  EXPECT_NEAR(found.r2, 1, 1e-12);
  // A line is a quadratic without a bend.
  const std::vector<double> on_line{5, 9, 17, 25, 33, 49};
  EXPECT_NEAR(fit_quadratic(sizes, on_line).quadratic, 0, 1e-12);
  EXPECT_NEAR(fit_line(sizes, on_line).linear, 1, 1e-12);
  EXPECT_NEAR(fit_line(sizes, on_line).constant, 1, 1e-11);
}

TEST(FittedCurve, TellsHowMuchOfTheVarianceItExplains) {
  const std::vector<double> x{0, 1, 2, 3};
  // By hand: the best line is 0.5 + 0 x, and it explains nothing.
  const std::vector<double> zigzag{0, 1, 1, 0};
  EXPECT_NEAR(fit_line(x, zigzag).r2, 0, 1e-12);
  EXPECT_NEAR(fit_quadratic(x, zigzag).r2, 1, 1e-12);
  EXPECT_EQ(fit_line(x, std::vector<double>{2, 2, 2, 2}).r2, 1);
}

MeasuredCosts two_sizes() {
  return {.operations = {{"secure-sum", 1000, curve(1, 10, 100)},
                         {"flame", 1000, curve(5, 0, 0)},
                         {"secure-sum", 3000, curve(3, 10, 500)}},
          .epoch = curve(0, 0.02, 0.001)};
}

TEST(MeasuredCosts, CurvesLieBetweenThoseOfMeasuredSizes) {
  const MeasuredCosts costs = two_sizes();
  const auto quadratic = [&](double parameters) {
    return operation_curve(costs, "secure-sum", parameters).value().quadratic;
  };
  EXPECT_EQ(quadratic(1000), 1);
  EXPECT_EQ(quadratic(10), 1);
  EXPECT_EQ(quadratic(2000), 2);
  EXPECT_EQ(quadratic(3000), 3);
  EXPECT_EQ(quadratic(5000), 5);
  EXPECT_EQ(operation_curve(costs, "secure-sum", 2000).value().constant, 300);
  EXPECT_EQ(operation_curve(costs, "flame", 1e6).value().quadratic, 5);
  EXPECT_THAT(operation_curve(costs, "krum", 1000).error().message, HasSubstr("secure-sum, flame"));
}

TEST(MeasuredCosts, TakeThePlaceOfAPapersConstants) {
  const CostOptions options{.model = "group-operations", .file = "costs.json"};
  const NetworkSize network{.sample_flops = 3e6, .values = 2000};
  const CostOptions taken = with_measured(options, two_sizes(), "secure-sum", network).value();
  EXPECT_EQ(taken.file, "");
  EXPECT_EQ(taken.operation_quadratic, 2);
  EXPECT_EQ(taken.operation_constant, 300);
  EXPECT_DOUBLE_EQ(taken.training_slope.value(), 0.02 * 3e-3);
  EXPECT_EQ(taken.training_constant, 0.001);
  EXPECT_TRUE(check_cost(taken, "dynamic").ok());
  // All are known, so nothing is added that would say that they were measured for a task.
  EXPECT_EQ(with_defaults(taken, "plain"), taken);
  // What the recipe says of training stays; without it the network must tell.
  CostOptions own = options;
  own.training_slope = 7;
  EXPECT_EQ(with_measured(own, two_sizes(), "secure-sum", {.values = 2000}).value().training_slope, 7);
  EXPECT_THAT(with_measured(options, two_sizes(), "secure-sum", {.values = 2000}).error().message,
              HasSubstr("cost.training-slope"));
}

TEST(MeasuredCosts, AreRefusedBesideWhatTheyReplace) {
  const auto message = [](CostOptions options) {
    options.file = "costs.json";
    const Status status = check_cost(options, "plain");
    return status ? std::string() : status.error().message;
  };
  EXPECT_EQ(message({.model = "group-operations"}), "");
  EXPECT_EQ(message({.model = "group-operations", .training_slope = 1.0}), "");
  EXPECT_THAT(message({.model = "link"}), HasSubstr("cost.file: \"costs.json\", but cost.model = \"link\""));
  EXPECT_THAT(message({.model = "chain"}), HasSubstr("cost.file"));
  EXPECT_THAT(message({.model = "group-operations", .operation_linear = 1.0}), HasSubstr("cost.operation-linear"));
  EXPECT_THAT(message({.model = "group-operations", .task = "speech"}), HasSubstr("cost.task"));
}

}  // namespace
}  // namespace muster
