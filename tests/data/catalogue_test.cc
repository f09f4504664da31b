#include "data/catalogue.h"

#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include "base/file.h"
#include "scratch_folder.h"

namespace muster {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

// An empty folder that is all the world: nothing in the working directory, at home or in $MUSTER_DATA.
class Catalogue : public testing::Test {
 protected:
  void SetUp() override {
    setenv("MUSTER_DATA", (folder_ / "data").c_str(), 1);
    setenv("XDG_DATA_HOME", (folder_ / "home").c_str(), 1);
  }
  void TearDown() override {
    unsetenv("MUSTER_DATA");
    unsetenv("XDG_DATA_HOME");
  }

  // A set of `count` images of 4 x 4 in IDX form, labels 0..9 in turn.
  void write_idx(const fs::path& where, const std::string& part, std::uint32_t count) {
    fs::create_directories(where);
    std::string images = {0, 0, 8, 3, 0, 0, 0, static_cast<char>(count), 0, 0, 0, 4, 0, 0, 0, 4};
    std::string labels = {0, 0, 8, 1, 0, 0, 0, static_cast<char>(count)};
    for (std::uint32_t i = 0; i < count; ++i) {
      images.append(16, static_cast<char>(i));
      labels.push_back(static_cast<char>(i % 10));
    }
    ASSERT_TRUE(write_file(where / (part + "-images-idx3-ubyte"), images).ok());
    ASSERT_TRUE(write_file(where / (part + "-labels-idx1-ubyte"), labels).ok());
  }

  ScratchFolder folder_;
};

TEST_F(Catalogue, ListsEverySourceOnceWithASummary) {
  std::set<std::string> names;
  for (const CatalogueEntry& entry : data_sources()) {
    EXPECT_TRUE(names.insert(entry.name).second) << entry.name;
    EXPECT_FALSE(entry.summary.empty()) << entry.name;
    EXPECT_THAT(entry.keys, testing::Contains("clients")) << entry.name;
  }
  for (const char* name :
       {"demo", "synthetic", "synthetic-iid", "blobs", "mnist", "fashion-mnist", "emnist", "cifar10", "cifar100",
        "sent140", "femnist", "speech-commands", "csv", "npz", "leaf", "idx", "cifar", "speech"}) {
    EXPECT_TRUE(names.contains(name)) << name;
  }
  for (const SourceState& state : source_states()) {
    EXPECT_EQ(state.kind == SourceKind::kNamed, !state.how_to_get.empty()) << state.name;
    EXPECT_EQ(state.kind == SourceKind::kNamed, !state.looked_in.empty()) << state.name;
  }
}

TEST_F(Catalogue, AMissingSetSaysWhereItLookedAndHowToGetIt) {
  const auto data = make_federated_data({.source = "cifar100"}, 1);
  ASSERT_FALSE(data.ok());
  EXPECT_EQ(data.error().code, ErrorCode::kFailed);
  EXPECT_THAT(data.error().message, HasSubstr("cifar100 is not on this machine (looked in " +
                                              (folder_ / "data/cifar100").string() + ", data/cifar100, "));
  EXPECT_THAT(data.error().message, HasSubstr("/usr/share/datasets/cifar100"));
  EXPECT_THAT(data.error().message, HasSubstr("; to get it: muster data get cifar100"));
  EXPECT_EQ(std::ranges::count(data.error().message, '\n'), 0);
}

TEST_F(Catalogue, UnknownNamesAndMissingPathsAreUsageErrors) {
  const auto typo = make_federated_data({.source = "fashon-mnist"}, 1);
  EXPECT_EQ(typo.error().code, ErrorCode::kUsage);
  EXPECT_THAT(typo.error().message,
              HasSubstr("data.source: unknown source 'fashon-mnist' (did you mean 'fashion-mnist'?)"));
  const auto pathless = make_federated_data({.source = "csv"}, 1);
  EXPECT_EQ(pathless.error().code, ErrorCode::kUsage);
  EXPECT_EQ(pathless.error().message, "data.path: missing, want the file or folder that source = csv reads; only the clients of `muster cloud` bring "
            "their own files");
  const auto absent = make_federated_data({.source = "csv", .path = "/no/such.csv"}, 1);
  EXPECT_EQ(absent.error().code, ErrorCode::kFailed);
  EXPECT_EQ(absent.error().message, "data.path: /no/such.csv: no such file or folder");
}

TEST_F(Catalogue, FindsASetInItsPlacesInOrder) {
  write_idx(folder_ / "home/muster/mnist", "train", 20);
  EXPECT_EQ(source_state("mnist")->found, folder_ / "home/muster/mnist");
  write_idx(folder_ / "data/mnist", "train", 30);
  write_idx(folder_ / "data/mnist", "t10k", 10);
  EXPECT_EQ(source_state("mnist")->found, folder_ / "data/mnist");
  const auto data = make_federated_data({.source = "mnist", .clients = 3u}, 1);
  ASSERT_TRUE(data.ok()) << data.error().message;
  EXPECT_EQ((*data)->summary(), "mnist, iid, 3 clients, 30 train, 10 test");
  const auto elsewhere =
      make_federated_data({.source = "mnist", .path = (folder_ / "home/muster/mnist").string(), .clients = 3u}, 1);
  ASSERT_TRUE(elsewhere.ok()) << elsewhere.error().message;
  // No test set in that folder, so a tenth of each client's samples: 7, 7 and 6 give one each.
  EXPECT_EQ((*elsewhere)->summary(), "mnist, iid, 3 clients, 17 train, 3 test");
}

TEST_F(Catalogue, NormalisesOnRequestPerFeature) {
  write_idx(folder_ / "set", "train", 20);
  std::string label;
  DataOptions options{.source = "idx", .path = (folder_ / "set").string()};
  const auto plain = read_source(options, label);
  ASSERT_TRUE(plain.ok()) << plain.error().message;
  EXPECT_TRUE(plain->train.scale.empty());
  options.normalize = true;
  const auto scaled = read_source(options, label);
  EXPECT_EQ(scaled->train.scale.size(), 16u);
}

TEST_F(Catalogue, ReadsOwnTables) {
  const fs::path file = folder_ / "own.csv";
  std::ofstream(file) << "a,b,label,client\n1,2,x,u\n3,4,y,u\n5,6,x,v\n7,8,y,v\n";
  const auto data = make_federated_data({.source = "csv", .path = file.string(), .test_fraction = 0.0}, 1);
  ASSERT_TRUE(data.ok()) << data.error().message;
  EXPECT_EQ((*data)->summary(), "csv, natural, 2 clients, 4 train, 0 test");
  EXPECT_EQ((*data)->client_name({1}), "v");
  const auto bad = make_federated_data({.source = "csv", .path = file.string(), .missing = "zero"}, 1);
  EXPECT_EQ(bad.error().message, "data.missing: 'zero', want error, mean or drop");
  const auto flat = make_federated_data({.source = "csv", .path = file.string(), .augment = true}, 1);
  EXPECT_EQ(flat.error().message, "data.augment: true, but samples of 1 x 1 x 2 are not images");
}

TEST_F(Catalogue, StandardisesTablesUnlessToldOtherwise) {
  const fs::path file = folder_ / "own.csv";
  std::ofstream(file) << "a,city,label\n10,x,0\n14,y,1\n10,x,0\n14,x,1\n";
  std::string name;
  const auto data = read_source({.source = "csv", .path = file.string()}, name);
  ASSERT_TRUE(data.ok()) << data.error().message;
  EXPECT_THAT(data->train.scale, testing::ElementsAre(0.5f, 1, 1));  // 0 or 1 stays so
  EXPECT_THAT(data->train.offset, testing::ElementsAre(-6, 0, 0));
  EXPECT_THAT(data->notes, testing::Contains(HasSubstr("features are standardised")));
  EXPECT_EQ(data->preparation.scale, data->train.scale);
  EXPECT_EQ(data->preparation.source, "csv");
  EXPECT_THAT(data->preparation.classes, testing::ElementsAre("0", "1"));
  const auto raw = read_source({.source = "csv", .path = file.string(), .normalize = false}, name);
  ASSERT_TRUE(raw.ok());
  EXPECT_TRUE(raw->train.scale.empty());
  EXPECT_THAT(raw->notes, testing::Not(testing::Contains(HasSubstr("standardised"))));
}

TEST_F(Catalogue, TheDemoAlwaysRuns) {
  const auto data = make_federated_data({.source = "demo"}, 1);
  ASSERT_TRUE(data.ok()) << data.error().message;
  EXPECT_EQ((*data)->clients(), 100u);
  EXPECT_EQ((*data)->shape(), (Shape{28, 28, 1}));
  const bool installed = source_state("fashion-mnist")->found.has_value();
  EXPECT_THAT((*data)->summary(), testing::StartsWith(installed ? "fashion-mnist, iid" : "blobs (generated"));
}

TEST_F(Catalogue, AugmentationIsCropAndFlip) {
  EXPECT_FALSE(augmentation_of({}).any());
  EXPECT_EQ(augmentation_of({.augment = true}).crop_padding, 4u);
  EXPECT_TRUE(augmentation_of({.augment = true}).flip);
}

std::string shared(const char* set) {
  return std::string(MUSTER_SOURCE_DIR "/../shared/data/") + set;
}

TEST_F(Catalogue, MnistByWriters) {
  if (!fs::exists(shared("mnist"))) GTEST_SKIP() << "no MNIST at " << shared("mnist");
  const auto data = make_federated_data({.source = "mnist", .path = shared("mnist")}, 1);
  ASSERT_TRUE(data.ok()) << data.error().message;
  EXPECT_EQ((*data)->summary(), "mnist, natural, 539 clients, 60000 train, 10000 test");
  std::uint32_t smallest = 1000;
  std::uint32_t largest = 0;
  for (std::uint32_t k = 0; k < 539; ++k) {
    smallest = std::min(smallest, (*data)->train_count({k}));
    largest = std::max(largest, (*data)->train_count({k}));
  }
  EXPECT_EQ(smallest, 19u);
  EXPECT_EQ(largest, 131u);
}

TEST_F(Catalogue, FedProxsMnist) {
  if (!fs::exists(shared("mnist"))) GTEST_SKIP() << "no MNIST at " << shared("mnist");
  const auto data = make_federated_data({.source = "mnist",
                                         .path = shared("mnist"),
                                         .partition = "classes-per-client",
                                         .clients = 1000u,
                                         .merge_test = true},
                                        1);
  ASSERT_TRUE(data.ok()) << data.error().message;
  std::uint64_t total = 0;
  for (std::uint32_t k = 0; k < 1000; ++k) total += (*data)->train_count({k}) + (*data)->test_count({k});
  EXPECT_NEAR(static_cast<double>(total), 69035, 150);
}

TEST_F(Catalogue, Sent140ByUsersWithTheVectorsBesideIt) {
  if (!fs::exists(shared("sent140"))) GTEST_SKIP() << "no Sent140 at " << shared("sent140");
  const auto data = make_federated_data({.source = "sent140", .path = shared("sent140")}, 1);
  ASSERT_TRUE(data.ok()) << data.error().message;
  EXPECT_EQ((*data)->clients(), 2875u);
  EXPECT_EQ((*data)->classes(), 2u);
  EXPECT_EQ((*data)->shape(), (Shape{1, 25, 100}));
}

}  // namespace
}  // namespace muster
