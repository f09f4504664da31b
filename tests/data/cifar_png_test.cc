#include "data/cifar_png.h"

#include <filesystem>

#include "base/file.h"
#include "data/picture.h"
#include "scratch_folder.h"

namespace muster {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class CifarPackage : public testing::Test {
 protected:
  void write_labels(const char* name, std::size_t count, const char* label) {
    std::string text = "[";
    for (std::size_t i = 0; i < count; ++i) text += (i == 0 ? "" : ",") + std::string(label);
    ASSERT_TRUE(write_file(folder_ / name, text + "]").ok());
  }
  std::string error() {
    const Status status = convert_cifar10_package(folder_.path(), folder_ / "out");
    return status.ok() ? "" : status.error().message;
  }

  ScratchFolder folder_;
};

TEST_F(CifarPackage, WithoutLabelsIsRefused) {
  EXPECT_THAT(error(), HasSubstr("train_lables.json: cannot open"));
}

TEST_F(CifarPackage, WithBadLabelsIsRefused) {
  for (const auto& [count, label] : {std::pair(49999, "3"), {50000, "10"}, {50000, "-1"}, {50000, "\"a\""}}) {
    write_labels("train_lables.json", static_cast<std::size_t>(count), label);
    EXPECT_THAT(error(), HasSubstr("train_lables.json: want an array of 50000 labels below 10")) << count << label;
  }
  ASSERT_TRUE(write_file(folder_ / "train_lables.json", "[1,2").ok());
  EXPECT_THAT(error(), HasSubstr("want an array of 50000 labels"));
}

TEST_F(CifarPackage, WithPicturesOfAnotherFormIsRefused) {
  write_labels("train_lables.json", 50000, "3");
  write_labels("test_lables.json", 10000, "3");
  EXPECT_THAT(error(), HasSubstr("data_batch_1.png: cannot open"));
  ASSERT_TRUE(write_file(folder_ / "data_batch_1.png", "no picture").ok());
  EXPECT_THAT(error(), HasSubstr("data_batch_1.png: not a PNG of 1024 x 10000 RGB pixels"));
  const auto small = draw_png({.clients = 1, .classes = 1, .counts = {1}});
  ASSERT_TRUE(write_file(folder_ / "data_batch_1.png", *small).ok());
  EXPECT_THAT(error(), HasSubstr("data_batch_1.png: not a PNG of 1024 x 10000 RGB pixels"));
  EXPECT_FALSE(fs::exists(folder_ / "out/data_batch_1.bin"));
}

}  // namespace
}  // namespace muster
