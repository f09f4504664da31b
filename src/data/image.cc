#include "data/image.h"

#include <png.h>

#include <algorithm>
#include <cmath>
#include <csetjmp>

namespace muster {
namespace {

// Only trivially destructible locals: libpng reports errors by longjmp. False = it failed.
bool encode(png_structp png, png_infop info, const Image& image, std::string& out) {
  if (setjmp(png_jmpbuf(png))) return false;
  png_set_write_fn(
      png, &out,
      [](png_structp p, png_bytep data, png_size_t size) {
        static_cast<std::string*>(png_get_io_ptr(p))->append(reinterpret_cast<const char*>(data), size);
      },
      [](png_structp) {});
  png_set_IHDR(png, info, image.width, image.height, 8, PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_write_info(png, info);
  for (std::uint32_t y = 0; y < image.height; ++y) {
    png_write_row(png, image.pixels.data() + std::size_t{y} * image.width * 3);
  }
  png_write_end(png, nullptr);
  return true;
}

}  // namespace

std::string hex(Colour c) {
  return fmt::format("#{:02x}{:02x}{:02x}", c.red, c.green, c.blue);
}

Colour blend(Colour a, Colour b, double share) {
  const auto part = [&](std::uint8_t from, std::uint8_t to) {
    return static_cast<std::uint8_t>(std::lround(from + share * (to - from)));
  };
  return {part(a.red, b.red), part(a.green, b.green), part(a.blue, b.blue)};
}

void Image::fill(std::uint32_t x, std::uint32_t y, std::uint32_t w, std::uint32_t h, Colour c) {
  for (std::uint32_t i = y; i < std::min(y + h, height); ++i) {
    for (std::uint32_t j = x; j < std::min(x + w, width); ++j) {
      std::uint8_t* pixel = pixels.data() + (std::size_t{i} * width + j) * 3;
      pixel[0] = c.red;
      pixel[1] = c.green;
      pixel[2] = c.blue;
    }
  }
}

void Image::darken(int x, int y, double share, Colour c) {
  if (x < 0 || y < 0 || x >= static_cast<int>(width) || y >= static_cast<int>(height) || share <= 0) return;
  std::uint8_t* pixel = pixels.data() + (static_cast<std::size_t>(y) * width + static_cast<std::size_t>(x)) * 3;
  const Colour mixed = blend({pixel[0], pixel[1], pixel[2]}, c, share);
  pixel[0] = mixed.red;
  pixel[1] = mixed.green;
  pixel[2] = mixed.blue;
}

Result<std::string> encode_png(const Image& image) {
  std::string out;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png ? png_create_info_struct(png) : nullptr;
  const bool written = info && encode(png, info, image, out);
  png_destroy_write_struct(&png, &info);
  if (!written) return failure("cannot encode a PNG of {} x {} pixels", image.width, image.height);
  return out;
}

}  // namespace muster
