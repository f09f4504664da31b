// Figures in the text format that Prometheus reads (version 0.0.4): families of samples, each with what it means.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace muster {

class PrometheusText {
 public:
  using Label = std::pair<std::string_view, std::string_view>;

  // What the samples that follow are of. A counter only rises while the process lives; its name ends in _total.
  PrometheusText& gauge(std::string_view name, std::string_view help) { return family(name, help, "gauge"); }
  PrometheusText& counter(std::string_view name, std::string_view help) { return family(name, help, "counter"); }
  // Values of labels may hold any bytes.
  PrometheusText& sample(double value, std::span<const Label> labels = {});
  PrometheusText& sample(double value, Label label) { return sample(value, std::span(&label, 1)); }

  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  PrometheusText& family(std::string_view name, std::string_view help, std::string_view type);

  std::string name_;
  std::string text_;
};

}  // namespace muster
