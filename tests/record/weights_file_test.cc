#include "record/weights_file.h"

#include <fmt/format.h>
#include <zlib.h>

#include <cstring>

#include "base/random.h"
#include "scratch_folder.h"

namespace muster {
namespace {

using ::testing::HasSubstr;

const std::vector<ParameterTensor> kTensors{
    {.name = "dense1.weight", .shape = {2, 3}, .range = {0, 6}},
    {.name = "dense1.bias", .shape = {3}, .range = {6, 3}},
    {.name = "norm1.mean", .shape = {1}, .range = {9, 1}, .trained = false},
};
const std::vector<float> kFlat{0.5f, -1.0f, 2.0f, 3.0f, -4.5f, 5.0f, 6.0f, 7.0f, 8.0f, 1e-30f};

std::span<const std::uint8_t> bytes_of(const std::string& text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

std::string write_example(const std::map<std::string, std::string>& metadata = {{"recipe", "fedavg"}}) {
  const ScratchFolder folder;
  const Status status = write_safetensors(folder / "model.safetensors", kTensors, kFlat, metadata);
  EXPECT_TRUE(status.ok()) << status.error().message;
  return slurp(folder / "model.safetensors");
}

std::string file_of(const std::string& header, std::size_t data_bytes = 40) {
  const std::uint64_t length = header.size();
  std::string file(reinterpret_cast<const char*>(&length), 8);
  file += header;
  file.append(reinterpret_cast<const char*>(kFlat.data()), std::min<std::size_t>(data_bytes, 40));
  return file;
}

std::string error_of(const std::string& file) {
  const auto flat = parse_safetensors(bytes_of(file), kTensors);
  EXPECT_FALSE(flat.ok());
  return flat.ok() ? "" : flat.error().message;
}

constexpr const char* kWeight = R"("dense1.weight":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]})";
constexpr const char* kBias = R"("dense1.bias":{"dtype":"F32","shape":[3],"data_offsets":[24,36]})";
constexpr const char* kMean = R"("norm1.mean":{"dtype":"F32","shape":[1],"data_offsets":[36,40]})";

std::string header_of(const std::string& a, const std::string& b, const std::string& c) {
  return fmt::format("{{{},{},{}}}", a, b, c);
}

TEST(Safetensors, HoldsTheTensorsByNameInTheFormatsWords) {
  const std::string file = write_example();
  std::uint64_t length = 0;
  std::memcpy(&length, file.data(), 8);
  ASSERT_EQ(file.size(), 8 + length + kFlat.size() * 4);
  EXPECT_EQ(length % 8, 0u);
  const std::string header = file.substr(8, length);
  EXPECT_THAT(header, HasSubstr(R"("__metadata__":{)"));
  EXPECT_THAT(header, HasSubstr(R"("recipe":"fedavg")"));
  EXPECT_THAT(header, HasSubstr(R"("layout":"dense [in][out];)"));
  EXPECT_THAT(header, HasSubstr(kWeight));
  EXPECT_THAT(header, HasSubstr(kBias));
  EXPECT_THAT(header, HasSubstr(kMean));
  EXPECT_EQ(std::memcmp(file.data() + 8 + length, kFlat.data(), kFlat.size() * 4), 0);
}

TEST(Safetensors, ReadsBackWhatWasWritten) {
  const auto flat = parse_safetensors(bytes_of(write_example({{"odd", "\"quoted\"\n\xff"}})), kTensors);
  ASSERT_TRUE(flat.ok()) << flat.error().message;
  EXPECT_EQ(*flat, kFlat);
}

TEST(Safetensors, TensorsMayComeInAnyOrder) {
  const std::string moved = R"("dense1.bias":{"shape":[3],"data_offsets":[0,12],"dtype":"F32"})";
  const std::string weight = R"("dense1.weight":{"dtype":"F32","shape":[2,3],"data_offsets":[12,36]})";
  const auto flat = parse_safetensors(bytes_of(file_of(header_of(kMean, moved, weight))), kTensors);
  ASSERT_TRUE(flat.ok()) << flat.error().message;
  EXPECT_EQ(*flat, (std::vector<float>{3.0f, -4.5f, 5.0f, 6.0f, 7.0f, 8.0f, 0.5f, -1.0f, 2.0f, 1e-30f}));
}

TEST(Safetensors, EveryTruncationIsAnError) {
  const std::string file = write_example();
  for (std::size_t bytes = 0; bytes < file.size(); ++bytes) {
    EXPECT_FALSE(parse_safetensors(bytes_of(file.substr(0, bytes)), kTensors).ok()) << bytes;
  }
  EXPECT_FALSE(parse_safetensors(bytes_of(file + "x"), kTensors).ok());
}

TEST(Safetensors, SaysWhatIsWrong) {
  EXPECT_THAT(error_of(""), HasSubstr("truncated"));
  EXPECT_THAT(error_of(std::string(8, '\xff')), HasSubstr("a header of 18446744073709551615 bytes"));
  EXPECT_THAT(error_of(file_of("{")), HasSubstr("not JSON"));
  EXPECT_THAT(error_of(file_of("[1]")), HasSubstr("not a JSON object"));
  EXPECT_THAT(error_of(file_of(fmt::format("{{{}}}", kWeight), 24)), HasSubstr("holds no tensor 'dense1.bias'"));
  EXPECT_THAT(error_of(file_of(header_of(kWeight, kBias, kMean), 36)), HasSubstr("36 bytes"));
  EXPECT_THAT(error_of(file_of(header_of(kWeight, kBias, R"("conv9.weight":{})"))), HasSubstr("'conv9.weight'"));

  const auto with_weight = [](const std::string& entry) {
    return error_of(file_of(header_of(fmt::format("\"dense1.weight\":{}", entry), kBias, kMean)));
  };
  EXPECT_THAT(with_weight("7"), HasSubstr("'dense1.weight' has no dtype"));
  EXPECT_THAT(with_weight(R"({"dtype":"F16","shape":[2,3],"data_offsets":[0,24]})"),
              HasSubstr("'dense1.weight' has the type \"F16\""));
  EXPECT_THAT(with_weight(R"({"dtype":"F32","shape":[3,2],"data_offsets":[0,24]})"),
              HasSubstr("'dense1.weight' has the shape [3,2], the network wants [2,3]"));
  EXPECT_THAT(with_weight(R"({"dtype":"F32","shape":"big","data_offsets":[0,24]})"),
              HasSubstr("has the shape \"big\""));
  EXPECT_THAT(with_weight(R"({"dtype":"F32","shape":[2,-3],"data_offsets":[0,24]})"),
              HasSubstr("has the shape [2,-3]"));
  for (const char* offsets : {"[0,20]", "[20,44]", "[24,0]", "[0]", "[-24,0]", "[0,1e300]", "null",
                              "[18446744073709551592,0]", "[0.0,24.0]"}) {
    EXPECT_THAT(with_weight(std::string(R"({"dtype":"F32","shape":[2,3],"data_offsets":)") + offsets + "}"),
                HasSubstr("data_offsets"))
        << offsets;
  }
  EXPECT_THAT(with_weight(R"({"dtype":"F32","shape":[2,3],"data_offsets":[4,28]})"), HasSubstr("overlap"));
}

TEST(Safetensors, ANetworksWeightsComeBack) {
  const ScratchFolder folder;
  const auto network = make_network({.name = "mlp", .hidden = {5}}, {.height = 3, .width = 2, .channels = 1}, 4);
  const auto other = make_network({.name = "mlp", .hidden = {6}}, {.height = 3, .width = 2, .channels = 1}, 4);
  ASSERT_TRUE(network.ok() && other.ok());
  std::vector<float> flat((*network)->size());
  Stream stream({.seed = 1});
  (*network)->initialise(flat, stream);
  const auto path = folder / "model.safetensors";
  ASSERT_TRUE(write_safetensors(path, **network, flat, {}).ok());
  const auto read = read_safetensors(path, **network);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(*read, flat);
  ASSERT_TRUE(write_npz(folder / "model.npz", **network, flat).ok());

  const auto refused = read_safetensors(path, **other);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr(path.string() + ": tensor "));
  EXPECT_THAT(read_safetensors(folder / "absent", **network).error().message, HasSubstr("absent: cannot open"));
}

TEST(Safetensors, AFailedWriteNamesTheFile) {
  const ScratchFolder folder;
  const Status status = write_safetensors(folder / "absent" / "model.safetensors", kTensors, kFlat, {});
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, HasSubstr("model.safetensors: cannot write"));
}

// The entries of a stored zip file, by its directory, each verified against its local record and checksum.
std::map<std::string, std::string> unzip(const std::string& file) {
  const auto u16 = [&](std::size_t at) {
    return static_cast<std::uint8_t>(file[at]) + 256u * static_cast<std::uint8_t>(file[at + 1]);
  };
  const auto u32 = [&](std::size_t at) { return u16(at) + 65536u * u16(at + 2); };
  std::map<std::string, std::string> entries;
  const std::size_t end = file.size() - 22;
  EXPECT_EQ(file.substr(end, 4), "PK\x05\x06");
  std::size_t at = u32(end + 16);
  EXPECT_EQ(at + u32(end + 12), end);
  for (std::size_t i = 0; i < u16(end + 10); ++i) {
    EXPECT_EQ(file.substr(at, 4), "PK\x01\x02");
    const std::string name = file.substr(at + 46, u16(at + 28));
    const std::size_t local = u32(at + 42);
    EXPECT_EQ(file.substr(local, 4), "PK\x03\x04");
    EXPECT_EQ(file.substr(local + 4, 24), file.substr(at + 6, 24));
    EXPECT_EQ(file.substr(local + 30, name.size()), name);
    const std::string content = file.substr(local + 30 + name.size() + u16(local + 28), u32(at + 24));
    EXPECT_EQ(crc32_z(0, reinterpret_cast<const Bytef*>(content.data()), content.size()), u32(at + 16));
    entries[name] = content;
    at += 46 + u16(at + 28) + u16(at + 30) + u16(at + 32);
  }
  EXPECT_EQ(at, end);
  return entries;
}

TEST(Npz, HoldsOneArrayPerTensor) {
  const ScratchFolder folder;
  ASSERT_TRUE(write_npz(folder / "model.npz", kTensors, kFlat).ok());
  const auto entries = unzip(slurp(folder / "model.npz"));
  ASSERT_EQ(entries.size(), 3u);
  const std::vector<std::string> shapes{"(2, 3)", "(3,)", "(1,)"};
  for (std::size_t i = 0; i < kTensors.size(); ++i) {
    const std::string& array = entries.at(kTensors[i].name + ".npy");
    ASSERT_EQ(array.substr(0, 8), std::string("\x93NUMPY\x01\x00", 8));
    const std::size_t header = 10 + static_cast<std::uint8_t>(array[8]) + 256u * static_cast<std::uint8_t>(array[9]);
    EXPECT_EQ(header % 64, 0u);
    EXPECT_THAT(array.substr(10, header - 10),
                HasSubstr("{'descr': '<f4', 'fortran_order': False, 'shape': " + shapes[i] + ", }"));
    EXPECT_EQ(array[header - 1], '\n');
    ASSERT_EQ(array.size(), header + kTensors[i].range.size * 4);
    EXPECT_EQ(std::memcmp(array.data() + header, kFlat.data() + kTensors[i].range.offset, kTensors[i].range.size * 4),
              0);
  }
}

TEST(Npz, EqualWeightsGiveEqualFiles) {
  const ScratchFolder folder;
  ASSERT_TRUE(write_npz(folder / "a.npz", kTensors, kFlat).ok());
  ASSERT_TRUE(write_npz(folder / "b.npz", kTensors, kFlat).ok());
  EXPECT_EQ(slurp(folder / "a.npz"), slurp(folder / "b.npz"));
}

TEST(Safetensors, ADeeplyNestedHeaderIsRefused) {
  for (const std::size_t levels : {std::size_t{4}, std::size_t{1000}, std::size_t{5'000'000}}) {
    const std::string shape = std::string(levels, '[') + std::string(levels, ']');
    const std::string weight = R"("dense1.weight":{"dtype":"F32","shape":)" + shape + R"(,"data_offsets":[0,24]})";
    EXPECT_EQ(error_of(file_of(header_of(weight, kBias, kMean))), "the header: JSON nested more than 3 levels deep");
  }
}

TEST(Safetensors, MetadataThatIsNotUtf8IsReplaced) {
  EXPECT_THAT(write_example({{"run", "a\xff"}}), HasSubstr("\"run\":\"a\xef\xbf\xbd\""));
}

}  // namespace
}  // namespace muster
