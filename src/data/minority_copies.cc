#include "data/minority_copies.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

namespace muster {
namespace {

// How far a copy may be from its original; usual for small pictures of one thing each.
constexpr double kShift = 0.1;  // of height and width
constexpr double kTurn = 10;    // degrees
constexpr double kShear = 0.1;
constexpr double kZoom = 0.1;

// Where each pixel of a copy comes from, about the middle of the image.
struct Move {
  double down_of_row, down_of_column, right_of_row, right_of_column;
  double shift_down, shift_right;
};

Move draw_move(const Shape& shape, Stream& stream) {
  const auto within = [&](double most) { return most * (2 * stream.uniform() - 1); };
  const double turn = within(kTurn) * std::numbers::pi / 180;
  const double shear = within(kShear);
  const double zoom = 1 / (1 + within(kZoom));
  const double shift_down = within(kShift) * shape.height;
  const double shift_right = within(kShift) * shape.width;
  return {.down_of_row = zoom * std::cos(turn),
          .down_of_column = zoom * (std::sin(turn) + shear * std::cos(turn)),
          .right_of_row = -zoom * std::sin(turn),
          .right_of_column = zoom * (std::cos(turn) - shear * std::sin(turn)),
          .shift_down = shift_down,
          .shift_right = shift_right};
}

// Between pixels the four around count by how near they are; outside of the image there is a stored zero.
template <typename T>
void append_moved(std::size_t row, const Shape& shape, const Move& move, std::vector<T>& values) {
  const auto height = static_cast<std::ptrdiff_t>(shape.height);
  const auto width = static_cast<std::ptrdiff_t>(shape.width);
  const auto channels = static_cast<std::ptrdiff_t>(shape.channels);
  const std::size_t begin = row * shape.size();
  const double middle_down = (shape.height - 1) / 2.0;
  const double middle_right = (shape.width - 1) / 2.0;
  values.reserve(values.size() + shape.size());
  for (std::ptrdiff_t r = 0; r < height; ++r) {
    for (std::ptrdiff_t c = 0; c < width; ++c) {
      const double y = static_cast<double>(r) - middle_down;
      const double x = static_cast<double>(c) - middle_right;
      const double down = middle_down + move.shift_down + move.down_of_row * y + move.down_of_column * x;
      const double right = middle_right + move.shift_right + move.right_of_row * y + move.right_of_column * x;
      const auto top = static_cast<std::ptrdiff_t>(std::floor(down));
      const auto left = static_cast<std::ptrdiff_t>(std::floor(right));
      for (std::ptrdiff_t k = 0; k < channels; ++k) {
        double value = 0;
        for (std::ptrdiff_t i = top; i <= top + 1; ++i) {
          for (std::ptrdiff_t j = left; j <= left + 1; ++j) {
            if (i < 0 || i >= height || j < 0 || j >= width) continue;
            const double near =
                (1 - std::abs(down - static_cast<double>(i))) * (1 - std::abs(right - static_cast<double>(j)));
            value +=
                near * static_cast<double>(values[begin + static_cast<std::size_t>((i * width + j) * channels + k)]);
          }
        }
        values.push_back(static_cast<T>(std::is_integral_v<T> ? std::floor(value + 0.5) : value));
      }
    }
  }
}

void append_copy(std::uint32_t row, Stream& stream, Samples& samples) {
  const Move move = draw_move(samples.shape, stream);
  if (samples.storage == Samples::Storage::kBytes) {
    append_moved(row, samples.shape, move, samples.bytes);
  } else {
    append_moved(row, samples.shape, move, samples.floats);
  }
  samples.labels.push_back(samples.labels[row]);
}

// Copies per sample of each class; 0 for those that are not rare, or that nobody has.
std::vector<double> copies_per_sample(double strength, const Samples& samples, const Division& division) {
  std::vector<double> counts(samples.classes);
  for (const std::uint32_t row : division.rows) ++counts[static_cast<std::size_t>(samples.labels[row])];
  const double mean = static_cast<double>(division.rows.size()) / samples.classes;
  for (double& count : counts) count = count > 0 && count < mean ? std::pow(mean / count, strength) - 1 : 0;
  return counts;
}

}  // namespace

Status add_minority_copies(double strength, std::uint64_t seed, Samples& samples, Division& division) {
  const bool image =
      samples.storage != Samples::Storage::kTokens && samples.shape.height > 1 && samples.shape.width > 1;
  if (!image) {
    return usage_error("data.augment-minority: {}, but samples of {} x {} x {} are not images", strength,
                       samples.shape.height, samples.shape.width, samples.shape.channels);
  }
  const std::vector<double> copies = copies_per_sample(strength, samples, division);
  Division grown = division;
  grown.rows.clear();
  grown.offsets = {0};
  for (std::uint32_t k = 0; k < division.clients(); ++k) {
    Stream stream({.seed = seed, .purpose = Purpose::kAugment, .id = k});
    const std::span<const std::uint32_t> own = division.of(k);
    grown.rows.insert(grown.rows.end(), own.begin(), own.end());
    for (std::uint32_t label = 0; label < samples.classes && !own.empty(); ++label) {
      if (copies[label] == 0) continue;
      std::vector<std::uint32_t> rows;
      for (const std::uint32_t row : own) {
        if (samples.labels[row] == static_cast<std::int32_t>(label)) rows.push_back(row);
      }
      const auto wanted = static_cast<std::size_t>(copies[label] * static_cast<double>(rows.size()) + 0.5);
      for (std::size_t i = 0; i < wanted; ++i) {
        grown.rows.push_back(static_cast<std::uint32_t>(samples.size()));
        append_copy(rows[i % rows.size()], stream, samples);
      }
    }
    grown.close_client();
  }
  if (samples.size() > 0xffffffffu) {
    return usage_error("data.augment-minority: {} gives more samples than an index holds; lower it", strength);
  }
  division = std::move(grown);
  return {};
}

}  // namespace muster
