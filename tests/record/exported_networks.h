// What the tests of exported files share: every built-in network and every kind of layer, with weights, rows and the
// logits that Muster computes for them, and the Python of docs/export.md that must compute the same.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/network.h"

namespace muster {

struct ExportedCase {
  const char* name;
  ModelOptions options;
  Shape input;
  std::uint32_t classes = 3;
  std::optional<Fusion> fusion = {};
};
const std::vector<ExportedCase>& exported_cases();

constexpr std::uint32_t kExportedRows = 5;

// Also scales, shifts and statistics are not what they start as.
std::vector<float> random_weights(const Network& network);
// kExportedRows of them, height x width x channels.
std::vector<float> random_rows(Shape shape);
std::vector<float> own_logits(const std::shared_ptr<const Network>& network, std::span<const float> flat,
                              std::span<const float> rows);

// The n-th block of Python on the page, counted from 0.
std::string python_of_the_page(std::size_t n);

}  // namespace muster
