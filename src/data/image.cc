#include "data/image.h"

#include <png.h>

#include <algorithm>
#include <array>
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

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '&') {
      out += "&amp;";
    } else {
      out += c;
    }
  }
  return out;
}

std::uint32_t tick_step(std::uint32_t count, std::uint32_t most) {
  for (std::uint64_t power = 1;; power *= 10) {
    for (const std::uint64_t step : {power, 2 * power, 5 * power}) {
      if ((count + step - 1) / step <= most) return static_cast<std::uint32_t>(step);
    }
  }
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

// Digits of 3 x 5 dots: all the text that a PNG needs.
void write_number(Image& image, std::uint32_t x, std::uint32_t y, std::uint32_t number) {
  constexpr std::array<std::uint16_t, 10> kDigits = {
      0b111101101101111, 0b010110010010111, 0b111001111100111, 0b111001111001111, 0b101101111001001,
      0b111100111001111, 0b111100111101111, 0b111001001001001, 0b111101111101111, 0b111101111001111};
  for (const char c : fmt::format("{}", number)) {
    const std::uint16_t dots = kDigits[static_cast<std::size_t>(c - '0')];
    for (std::uint32_t i = 0; i < 15; ++i) {
      if (dots >> (14 - i) & 1) image.fill(x + i % 3 * kDot, y + i / 3 * kDot, kDot, kDot, {70, 70, 70});
    }
    x += kDigitWidth;
  }
}

std::uint32_t number_width(std::uint32_t number) {
  return static_cast<std::uint32_t>(fmt::formatted_size("{}", number)) * kDigitWidth - kDot;
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
