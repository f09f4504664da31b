// Images for kernel tests: plain values with a naive index, and their copies in the padded layouts of the kernels.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "base/isa.h"
#include "base/random.h"
#include "model/kernels/conv_kernels.h"

namespace muster {

// [batch][height][width][channels] of doubles that are exact floats.
struct Picture {
  int batch = 1, height = 1, width = 1, channels = 1;
  std::vector<double> values;

  Picture(int n, int h, int w, int c)
      : batch(n), height(h), width(w), channels(c), values(std::size_t(n) * std::size_t(h * w) * std::size_t(c)) {}
  double& at(int n, int y, int x, int c) { return values[((std::size_t(n) * height + y) * width + x) * channels + c]; }
  // Zero outside.
  double get(int n, int y, int x, int c) const {
    if (y < 0 || y >= height || x < 0 || x >= width) return 0;
    return values[((std::size_t(n) * height + y) * width + x) * channels + c];
  }
};

inline void randomise(std::vector<double>& values, std::uint32_t id) {
  Stream stream({.seed = 11, .purpose = Purpose::kTest, .id = id});
  for (double& v : values) v = static_cast<float>(stream.normal());
}

inline Picture random_picture(int n, int h, int w, int c, std::uint32_t id) {
  Picture picture(n, h, w, c);
  randomise(picture.values, id);
  return picture;
}

inline int padded16(int channels) {
  return (channels + 15) / 16 * 16;
}

// A picture in the channels format: halo, and channels padded to `pixel` floats. Unwritten floats are `blank`.
class ChannelsTensor {
 public:
  ChannelsTensor(int n, int h, int w, int pixel, int halo)
      : values_(std::size_t(n) * std::size_t(h + 2 * halo) * std::size_t(w + 2 * halo) * std::size_t(pixel)) {
    images_.pixel = std::size_t(pixel);
    images_.row = std::size_t(w + 2 * halo) * images_.pixel;
    images_.sample = std::size_t(h + 2 * halo) * images_.row;
    images_.data = values_.data() + std::size_t(halo) * (images_.row + images_.pixel);
  }
  ChannelsTensor(const Picture& picture, int pixel, int halo)
      : ChannelsTensor(picture.batch, picture.height, picture.width, pixel, halo) {
    for (int n = 0; n < picture.batch; ++n)
      for (int y = 0; y < picture.height; ++y)
        for (int x = 0; x < picture.width; ++x)
          for (int c = 0; c < picture.channels; ++c) at(n, y, x, c) = static_cast<float>(picture.get(n, y, x, c));
  }
  float& at(int n, int y, int x, int c) {
    return images_.data[std::size_t(n) * images_.sample + std::size_t(y) * images_.row +
                        std::size_t(x) * images_.pixel + std::size_t(c)];
  }
  Images images() { return images_; }
  void fill(float value) {
    for (float& v : values_) v = value;
  }
  const std::vector<float>& values() const { return values_; }

 private:
  std::vector<float> values_;
  Images images_;
};

inline void expect_same(ChannelsTensor& got, const Picture& want, double tolerance, const char* what) {
  double worst = 0;
  for (int n = 0; n < want.batch; ++n)
    for (int y = 0; y < want.height; ++y)
      for (int x = 0; x < want.width; ++x)
        for (int c = 0; c < want.channels; ++c)
          worst = std::max(worst, std::abs(double{got.at(n, y, x, c)} - want.get(n, y, x, c)));
  EXPECT_LE(worst, tolerance) << what;
}

// Runs a check in every instruction set this processor has.
inline void in_every_isa(const std::function<void()>& check) {
  const Isa before = current_isa();
  for (const Isa isa : available_isas()) {
    SCOPED_TRACE(std::string("isa ") + std::string(name(isa)));
    use_isa(isa);
    check();
  }
  use_isa(before);
}

}  // namespace muster
