#include "data/cifar_png.h"

#include <png.h>

#include <array>
#include <csetjmp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/file.h"
#include "base/hash.h"

namespace muster {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t kImages = 10000;  // per file
constexpr std::uint32_t kPixels = 32 * 32;

struct OfficialFile {
  const char* name;
  std::uint64_t hash;  // XXH3 of the official .bin
};
constexpr std::array<OfficialFile, 6> kFiles = {{{"data_batch_1", 0x41ac9bacc0b7f4a7},
                                                 {"data_batch_2", 0xfe2060fa6cda726a},
                                                 {"data_batch_3", 0xb4bded95a257863a},
                                                 {"data_batch_4", 0xc1de03fe2464dfde},
                                                 {"data_batch_5", 0xd237593ed2319c8c},
                                                 {"test_batch", 0x437077c166f279d4}}};

// libpng reports errors by longjmp, so nothing here may need a destructor. False = not a PNG of the expected form.
bool decode(png_structp png, png_infop info, std::FILE* file, std::uint8_t* pixels) {
  if (setjmp(png_jmpbuf(png))) return false;
  png_init_io(png, file);
  png_read_info(png, info);
  if (png_get_image_width(png, info) != kPixels || png_get_image_height(png, info) != kImages ||
      png_get_bit_depth(png, info) != 8 || png_get_color_type(png, info) != PNG_COLOR_TYPE_RGB ||
      png_get_interlace_type(png, info) != PNG_INTERLACE_NONE) {
    return false;
  }
  for (std::uint32_t row = 0; row < kImages; ++row) png_read_row(png, pixels + std::size_t{row} * kPixels * 3, nullptr);
  return true;
}

Result<std::vector<std::uint8_t>> read_pixels(const fs::path& path) {
  const auto close = [](std::FILE* file) { std::fclose(file); };
  const std::unique_ptr<std::FILE, decltype(close)> file(std::fopen(path.c_str(), "rb"));
  if (!file) return failure("{}: cannot open", path.string());
  std::vector<std::uint8_t> pixels(std::size_t{kImages} * kPixels * 3);
  png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png ? png_create_info_struct(png) : nullptr;
  const bool read = info && decode(png, info, file.get(), pixels.data());
  png_destroy_read_struct(&png, &info, nullptr);
  if (!read) return failure("{}: not a PNG of {} x {} RGB pixels", path.string(), kPixels, kImages);
  return pixels;
}

Result<std::vector<std::uint8_t>> read_labels(const fs::path& path, std::size_t count) {
  MUSTER_ASSIGN(const std::vector<std::uint8_t> text, read_file(path, 10 << 20));
  const auto json = nlohmann::json::parse(text.begin(), text.end(), nullptr, false);
  std::vector<std::uint8_t> labels;
  if (json.is_array()) {
    for (const auto& label : json) {
      if (label.is_number_unsigned() && label.get<std::uint64_t>() < 10) labels.push_back(label.get<std::uint8_t>());
    }
  }
  if (labels.size() != count) return failure("{}: want an array of {} labels below 10", path.string(), count);
  return labels;
}

}  // namespace

Status convert_cifar10_package(const fs::path& package, const fs::path& folder) {
  MUSTER_ASSIGN(const auto train_labels, read_labels(package / "train_lables.json", 5 * kImages));
  MUSTER_ASSIGN(const auto test_labels, read_labels(package / "test_lables.json", kImages));
  MUSTER_TRY(make_folder(folder));
  for (std::size_t f = 0; f < kFiles.size(); ++f) {
    const auto& [name, hash] = kFiles[f];
    MUSTER_ASSIGN(const auto pixels, read_pixels(package / fmt::format("{}.png", name)));
    const std::uint8_t* labels = f < 5 ? train_labels.data() + f * kImages : test_labels.data();
    // A record is the label, then the red, green and blue planes.
    std::string records(std::size_t{kImages} * (1 + 3 * kPixels), '\0');
    char* out = records.data();
    for (std::size_t i = 0; i < kImages; ++i) {
      *out++ = static_cast<char>(labels[i]);
      const std::uint8_t* image = pixels.data() + i * kPixels * 3;
      for (std::uint32_t channel = 0; channel < 3; ++channel) {
        for (std::uint32_t p = 0; p < kPixels; ++p) *out++ = static_cast<char>(image[p * 3 + channel]);
      }
    }
    if (hash_bytes(records.data(), records.size()) != hash) {
      return failure("{}: {}.png does not give the official {}.bin", package.string(), name, name);
    }
    MUSTER_TRY(write_file(folder / fmt::format("{}.bin", name), records));
  }
  return {};
}

}  // namespace muster
