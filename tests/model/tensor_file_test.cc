#include "model/tensor_file.h"

#include <fmt/format.h>

#include <cstring>

#include "scratch_folder.h"

namespace muster {
namespace {

using testing::HasSubstr;

const std::vector<float> kHeld{1.5f, -2.0f, 3.0f, 4.0f, 5.0f, 6.0f, 7.0f};

std::string tensor_bytes(const std::string& header, std::size_t values = kHeld.size()) {
  const std::uint64_t length = header.size();
  std::string file(reinterpret_cast<const char*>(&length), sizeof length);
  return file + header + std::string(reinterpret_cast<const char*>(kHeld.data()), values * sizeof(float));
}

Result<TensorFile> parsed(const std::string& file) {
  return parse_tensor_file({reinterpret_cast<const std::uint8_t*>(file.data()), file.size()});
}

std::string refusal_of(const std::string& file) {
  const auto read = parsed(file);
  return read.ok() ? "accepted" : read.error().message;
}

std::string entry(const std::string& name, const std::string& shape, int begin, int end, const char* type = "F32") {
  return fmt::format(R"("{}":{{"dtype":"{}","shape":{},"data_offsets":[{},{}]}})", name, type, shape, begin, end);
}

TEST(TensorFile, TensorsComeInTheOrderOfTheirValues) {
  const std::string whole =
      fmt::format(R"({{"__metadata__":{{"format":"pt"}},{},{},{},{}}})", entry("z", "[]", 0, 4),
                  entry("b.weight", "[2,2]", 12, 28), entry("none", "[0,3]", 12, 12), entry("a", "[1,1,2]", 4, 12));
  const auto read = parsed(tensor_bytes(whole));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->values, kHeld);
  const std::vector<ParameterTensor> want{{.name = "z", .shape = {}, .range = {0, 1}},
                                          {.name = "a", .shape = {1, 1, 2}, .range = {1, 2}},
                                          {.name = "none", .shape = {0, 3}, .range = {3, 0}},
                                          {.name = "b.weight", .shape = {2, 2}, .range = {3, 4}}};
  EXPECT_EQ(read->tensors, want);
}

TEST(TensorFile, SaysWhatIsWrong) {
  const std::string good = entry("a", "[7]", 0, 28);
  EXPECT_EQ(refusal_of("1234567"), "truncated: 7 bytes are no safetensors file");
  EXPECT_THAT(refusal_of(std::string(100, 'x')), HasSubstr("no safetensors file"));
  EXPECT_EQ(refusal_of(tensor_bytes("{" + good).substr(0, 20)),
            fmt::format("truncated: a header of {} bytes, 12 left", good.size() + 1));
  EXPECT_EQ(refusal_of(tensor_bytes("{" + good)), "the header: not JSON");
  EXPECT_EQ(refusal_of(tensor_bytes("[]")), "the header is not a JSON object");
  EXPECT_EQ(refusal_of(tensor_bytes("{" + good + "," + good + "}")), "two tensors are named 'a'");
  EXPECT_EQ(refusal_of(tensor_bytes("{" + entry("a\\nb", "[7]", 0, 28, "F16") + "}")),
            R"(tensor 'a\nb' has the type "F16", want "F32")");
  EXPECT_EQ(refusal_of(tensor_bytes(R"({"a":{"dtype":"F32"}})")), "tensor 'a' has no dtype, shape or data_offsets");
  for (const char* shape : {"7", "[-7]", "[7.0]", "[4294967296]", "[65536,65536,65536]"}) {
    EXPECT_EQ(refusal_of(tensor_bytes("{" + entry("a", shape, 0, 28) + "}")),
              fmt::format("tensor 'a' has the shape {}, want a list of sizes", shape));
  }
  EXPECT_THAT(refusal_of(tensor_bytes("{" + entry("a", "[6]", 0, 28) + "}")), HasSubstr("do not cover 24 of the 28"));
  EXPECT_THAT(refusal_of(tensor_bytes("{" + good + "}", 6)), HasSubstr("do not cover 28 of the 24"));
  EXPECT_EQ(refusal_of(tensor_bytes("{" + entry("a", "[6]", 0, 24) + "}")),
            "byte 24 of the 28 bytes of values belongs to no tensor");
  EXPECT_EQ(refusal_of(tensor_bytes("{" + entry("a", "[6]", 4, 28) + "}")),
            "byte 0 of the 28 bytes of values belongs to no tensor");
  EXPECT_EQ(refusal_of(tensor_bytes("{" + entry("a", "[4]", 0, 16) + "," + entry("b", "[4]", 12, 28) + "}")),
            "two tensors overlap at byte 12");
  EXPECT_THAT(refusal_of(tensor_bytes(R"({"a":{"dtype":"F32","shape":[[[[7]]]],"data_offsets":[0,28]}})")),
              HasSubstr("nested more than 3 levels"));
}

TEST(TensorFile, EveryTruncationIsAnError) {
  const std::string file = tensor_bytes("{" + entry("a", "[3]", 0, 12) + "," + entry("b", "[4]", 12, 28) + "}");
  ASSERT_TRUE(parsed(file).ok());
  for (std::size_t bytes = 0; bytes < file.size(); ++bytes) EXPECT_FALSE(parsed(file.substr(0, bytes)).ok()) << bytes;
}

class ExternalNetwork : public testing::Test {
 protected:
  std::string put(const std::string& bytes) const {
    std::ofstream(folder_ / "first.safetensors", std::ios::binary) << bytes;
    return (folder_ / "first.safetensors").string();
  }
  static std::string error_of(const ModelOptions& options) {
    const auto made = make_network(options, {}, 0);
    return made.ok() ? "accepted" : made.error().message;
  }
  ScratchFolder folder_;
};

TEST_F(ExternalNetwork, BeginsAsItsFileHasIt) {
  const std::string path =
      put(tensor_bytes("{" + entry("body.w", "[3]", 0, 12) + "," + entry("head", "[2,2]", 12, 28) + "}"));
  const auto made = make_network({.name = "external", .path = path}, {1, 1, 5}, 3);
  ASSERT_TRUE(made.ok()) << made.error().message;
  const Network& network = **made;
  EXPECT_TRUE(network.external());
  EXPECT_EQ(network.size(), 7u);
  EXPECT_EQ(network.parameters(), 7u);
  EXPECT_EQ(network.classes(), 3u);
  EXPECT_EQ(network.forward_macs(), 0u);
  EXPECT_EQ(network.last_layer().size + network.classifier().size, 0u);
  EXPECT_EQ(describe_network(network), "body.w  3\nhead  2 x 2\n");
  std::vector<float> flat(network.size());
  Stream stream({.seed = 5});
  network.initialise(flat, stream);
  EXPECT_EQ(flat, kHeld);
}

TEST_F(ExternalNetwork, WhatCannotBeAModelIsRefusedInALine) {
  EXPECT_EQ(error_of({.name = "external"}),
            "model.path: missing; model.name = \"external\" wants the first model as a safetensors file");
  EXPECT_THAT(error_of({.name = "external", .path = (folder_ / "absent").string()}), HasSubstr("absent: cannot open"));
  EXPECT_THAT(error_of({.name = "external", .path = folder_.path().string()}), HasSubstr("not a file"));
  const std::string none = put(tensor_bytes("{}", 0));
  EXPECT_EQ(error_of({.name = "external", .path = none}), fmt::format("model.path: {}: holds no values", none));
  std::string bytes = tensor_bytes("{" + entry("w", "[7]", 0, 28) + "}");
  const float infinite = std::numeric_limits<float>::infinity();
  std::memcpy(bytes.data() + bytes.size() - 8, &infinite, sizeof infinite);
  const std::string path = put(bytes);
  EXPECT_EQ(error_of({.name = "external", .path = path}),
            fmt::format("model.path: {}: tensor 'w' has a value that is not finite", path));
  const std::string two = put(tensor_bytes("{" + entry("w", "[7]", 0, 28) + "," + entry("w", "[7]", 0, 28) + "}"));
  EXPECT_EQ(error_of({.name = "external", .path = two}), fmt::format("model.path: {}: two tensors are named 'w'", two));
}

}  // namespace
}  // namespace muster
