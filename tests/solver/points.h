// Points: clients whose few samples are written down, two features and two classes, for steps that can be done by hand.
#pragma once

#include <cmath>
#include <vector>

#include "data/federated_data.h"

namespace muster {

constexpr ClientId kFirst{0};
constexpr ClientId kSecond{1};

struct Point {
  float x0;
  float x1;
  std::int32_t label;
};

class Points final : public FederatedData {
 public:
  // The training and the test samples of each client.
  explicit Points(const std::vector<std::vector<Point>>& train, const std::vector<std::vector<Point>>& test = {}) {
    samples_ = {.storage = Samples::Storage::kFloats, .shape = {1, 1, 2}, .classes = 2};
    for (const auto& points : train) train_.push_back(add(points));
    for (const auto& points : test) test_.push_back(add(points));
    test_.resize(train_.size());
  }

  std::uint32_t clients() const override { return static_cast<std::uint32_t>(train_.size()); }
  Shape shape() const override { return samples_.shape; }
  std::uint32_t classes() const override { return 2; }
  std::uint32_t train_count(ClientId k) const override { return static_cast<std::uint32_t>(train_[k.value].size()); }
  std::uint32_t test_count(ClientId k) const override { return static_cast<std::uint32_t>(test_[k.value].size()); }
  SampleView train(ClientId k, SampleBuffer&) const override { return {&samples_, train_[k.value]}; }
  SampleView test(ClientId k, SampleBuffer&) const override { return {&samples_, test_[k.value]}; }
  SampleView global_test() const override { return {&samples_, {}}; }
  SampleView exemplars() const override { return {&samples_, {}}; }
  std::vector<std::uint32_t> label_counts(ClientId) const override { return {}; }
  std::string summary() const override { return "points"; }

 private:
  std::vector<std::uint32_t> add(const std::vector<Point>& points) {
    std::vector<std::uint32_t> rows;
    for (const Point& point : points) {
      rows.push_back(static_cast<std::uint32_t>(samples_.size()));
      samples_.labels.push_back(point.label);
      samples_.floats.insert(samples_.floats.end(), {point.x0, point.x1});
    }
    return rows;
  }

  Samples samples_;
  std::vector<std::vector<std::uint32_t>> train_;
  std::vector<std::vector<std::uint32_t>> test_;
};

// Softmax regression on points, in double and in the order of the flat vector: W[0][0], W[0][1], W[1][0], W[1][1],
// b[0], b[1].
using Model = std::vector<double>;

inline double probability_of_1(const Model& w, const Point& p) {
  const double z0 = w[0] * p.x0 + w[2] * p.x1 + w[4];
  const double z1 = w[1] * p.x0 + w[3] * p.x1 + w[5];
  return 1 / (1 + std::exp(z0 - z1));
}

inline double mean_loss(const Model& w, const std::vector<Point>& points) {
  double sum = 0;
  for (const Point& p : points) {
    const double p1 = probability_of_1(w, p);
    sum -= std::log(p.label == 1 ? p1 : 1 - p1);
  }
  return sum / static_cast<double>(points.size());
}

inline Model mean_gradient(const Model& w, const std::vector<Point>& points) {
  Model gradient(6, 0.0);
  for (const Point& p : points) {
    const double error = (probability_of_1(w, p) - p.label) / static_cast<double>(points.size());
    gradient[0] -= error * p.x0;
    gradient[1] += error * p.x0;
    gradient[2] -= error * p.x1;
    gradient[3] += error * p.x1;
    gradient[4] -= error;
    gradient[5] += error;
  }
  return gradient;
}

}  // namespace muster
