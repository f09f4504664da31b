#include "model/layer_face.h"

#include <algorithm>

namespace muster {
namespace {

struct Line {
  std::string words;
  std::string shape;
  std::string parameters;
};

// 1234567 -> "1,234,567"
std::string grouped(std::size_t number) {
  const std::string digits = fmt::format("{}", number);
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

void add_lines(std::span<const LayerFace> layers, std::size_t indent, std::vector<Line>& lines, std::size_t& total) {
  for (const LayerFace& layer : layers) {
    std::size_t own = layer.parameters;
    for (const LayerFace& part : layer.inside) own -= part.parameters;
    total += own;
    lines.push_back({std::string(indent, ' ') + layer.spec.words, describe_shape(layer.output),
                     own > 0 ? grouped(own) : std::string()});
    add_lines(layer.inside, indent + 2, lines, total);
  }
}

}  // namespace

std::string describe_shape(Shape shape) {
  if (shape.height == 1 && shape.width == 1) return fmt::format("{}", shape.channels);
  if (shape.height == 1) return fmt::format("{} x {}", shape.width, shape.channels);
  return fmt::format("{} x {} x {}", shape.height, shape.width, shape.channels);
}

std::string describe_layers(Shape input, std::span<const LayerFace> layers) {
  std::vector<Line> lines{{"layer", "output", "parameters"}, {"data", describe_shape(input), ""}};
  std::size_t total = 0;
  add_lines(layers, 0, lines, total);
  lines.push_back({"total", "", grouped(total)});
  std::size_t words = 0;
  std::size_t shape = 0;
  for (const Line& line : lines) {
    words = std::max(words, line.words.size());
    shape = std::max(shape, line.shape.size());
  }
  std::string text;
  for (const Line& line : lines) {
    std::string row = fmt::format("{:<{}}  {:<{}}  {:>10}", line.words, words, line.shape, shape, line.parameters);
    row.erase(row.find_last_not_of(' ') + 1);
    text += row + "\n";
  }
  return text;
}

}  // namespace muster
