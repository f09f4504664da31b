#include "data/error_text.h"
#include "data/readers/cifar.h"
#include "scratch_folder.h"

namespace muster {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Bytes = std::vector<std::uint8_t>;

// A record whose red, green and blue planes count up from 1, 2 and 3.
Bytes record(const Bytes& labels) {
  Bytes bytes = labels;
  for (int channel = 1; channel <= 3; ++channel) {
    for (int pixel = 0; pixel < 1024; ++pixel) bytes.push_back(static_cast<std::uint8_t>(pixel * 3 + channel));
  }
  return bytes;
}

TEST(CifarReader, TurnsPlanesIntoPixels) {
  auto samples = parse_cifar(record({7}), CifarKind::kCifar10);
  ASSERT_TRUE(samples) << error_of(samples);
  EXPECT_EQ(samples->shape, (Shape{32, 32, 3}));
  EXPECT_EQ(samples->classes, 10u);
  EXPECT_THAT(samples->labels, ElementsAre(7));
  EXPECT_THAT(Bytes(samples->bytes.begin(), samples->bytes.begin() + 6), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_EQ(samples->bytes.size(), 3072u);
}

TEST(CifarReader, TakesTheFineLabelOfCifar100) {
  auto samples = parse_cifar(record({3, 99}), CifarKind::kCifar100);
  ASSERT_TRUE(samples) << error_of(samples);
  EXPECT_EQ(samples->classes, 100u);
  EXPECT_THAT(samples->labels, ElementsAre(99));
}

TEST(CifarReader, RefusesBrokenFiles) {
  Bytes torn = record({7});
  torn.pop_back();
  EXPECT_THAT(error_of(parse_cifar(torn, CifarKind::kCifar10)), HasSubstr("3072 bytes are not a whole number"));
  EXPECT_THAT(error_of(parse_cifar(Bytes{}, CifarKind::kCifar10)), HasSubstr("empty"));
  EXPECT_THAT(error_of(parse_cifar(record({10}), CifarKind::kCifar10)),
              HasSubstr("row 0: label 10, want 0..9 (10 classes)"));
  EXPECT_THAT(error_of(parse_cifar(record({0, 100}), CifarKind::kCifar100)), HasSubstr("label 100, want 0..99"));
}

TEST(CifarReader, ReadsBothFolders) {
  const ScratchFolder folder;
  EXPECT_THAT(error_of(read_cifar_folder(folder.path())), HasSubstr("neither"));
  for (int batch = 1; batch <= 4; ++batch) {
    folder.write(fmt::format("ten/data_batch_{}.bin", batch), record({static_cast<std::uint8_t>(batch)}));
  }
  EXPECT_THAT(error_of(read_cifar_folder(folder.path() / "ten")), HasSubstr("data_batch_5.bin is missing"));
  folder.write("ten/data_batch_5.bin", record({5}));
  auto ten = read_cifar_folder(folder.path() / "ten");
  ASSERT_TRUE(ten) << error_of(ten);
  EXPECT_THAT(ten->train.labels, ElementsAre(1, 2, 3, 4, 5));
  EXPECT_EQ(ten->train.bytes.size(), 5u * 3072);
  EXPECT_EQ(ten->test.size(), 0u);
  EXPECT_EQ(ten->class_names.size(), 10u);

  folder.write("hundred/train.bin", record({1, 40}));
  folder.write("hundred/test.bin", record({1, 41}));
  auto hundred = read_cifar_folder(folder.path() / "hundred");
  ASSERT_TRUE(hundred) << error_of(hundred);
  EXPECT_THAT(hundred->train.labels, ElementsAre(40));
  EXPECT_THAT(hundred->test.labels, ElementsAre(41));
  folder.write("hundred/test.bin", record({41}));
  EXPECT_THAT(error_of(read_cifar_folder(folder.path() / "hundred")), HasSubstr("test.bin"));
}

}  // namespace
}  // namespace muster
