#include "record/tensorboard.h"

#include <cstring>
#include <map>

#include "data/canvas.h"
#include "protobuf_fields.h"
#include "scratch_folder.h"

namespace muster {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;

// A reader of its own, bit by bit, so that it shares no mistake with the writer's tables.
std::uint32_t slow_masked_crc(std::string_view bytes) {
  std::uint32_t crc = 0xffffffffu;
  for (const char c : bytes) {
    crc ^= static_cast<std::uint8_t>(c);
    for (int bit = 0; bit < 8; ++bit) crc = crc & 1 ? (crc >> 1) ^ 0x82f63b78u : crc >> 1;
  }
  crc = ~crc;
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

template <typename T>
T fixed(std::string_view& bytes) {
  T value{};
  EXPECT_GE(bytes.size(), sizeof value);
  std::memcpy(&value, bytes.data(), std::min(sizeof value, bytes.size()));
  bytes.remove_prefix(std::min(sizeof value, bytes.size()));
  return value;
}

std::vector<std::string> records_of(std::string_view file) {
  std::vector<std::string> records;
  while (!file.empty()) {
    const std::string_view length_bytes = file.substr(0, 8);
    const auto length = fixed<std::uint64_t>(file);
    EXPECT_EQ(fixed<std::uint32_t>(file), slow_masked_crc(length_bytes));
    EXPECT_LE(length + 4, file.size());
    if (length + 4 > file.size()) break;
    records.emplace_back(file.substr(0, length));
    file.remove_prefix(length);
    EXPECT_EQ(fixed<std::uint32_t>(file), slow_masked_crc(records.back()));
  }
  return records;
}

std::uint64_t varint(std::string_view& bytes) {
  std::uint64_t value = 0;
  for (int shift = 0; !bytes.empty(); shift += 7) {
    const auto byte = static_cast<std::uint8_t>(bytes.front());
    bytes.remove_prefix(1);
    value |= std::uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) break;
  }
  return value;
}

// The fields of a protocol buffer message, each as its raw bytes (varints as 8 bytes).
std::map<std::uint64_t, std::string> fields_of(std::string_view message) {
  std::map<std::uint64_t, std::string> fields;
  while (!message.empty()) {
    const std::uint64_t tag = varint(message);
    std::size_t bytes = 0;
    if ((tag & 7) == 0) {
      const std::uint64_t value = varint(message);
      fields[tag >> 3] = std::string(reinterpret_cast<const char*>(&value), 8);
      continue;
    }
    if ((tag & 7) == 1) bytes = 8;
    if ((tag & 7) == 2) bytes = varint(message);
    if ((tag & 7) == 5) bytes = 4;
    EXPECT_LE(bytes, message.size());
    fields[tag >> 3] = message.substr(0, bytes);
    message.remove_prefix(std::min(bytes, message.size()));
  }
  return fields;
}

template <typename T>
T as(const std::string& bytes) {
  std::string_view view = bytes;
  return fixed<T>(view);
}

EventWriter open(const std::filesystem::path& folder, std::uint32_t first_round = 1) {
  auto writer = EventWriter::open(folder, first_round);
  EXPECT_TRUE(writer.ok()) << writer.error().message;
  return std::move(*writer);
}

TEST(EventWriter, TheChecksumIsCrc32c) {
  // The check value of CRC-32C, "123456789" -> e3069283, masked.
  const std::uint32_t crc = 0xe3069283u;
  EXPECT_EQ(slow_masked_crc("123456789"), ((crc >> 15) | (crc << 17)) + 0xa282ead8u);
}

TEST(EventWriter, WritesAWellFormedFile) {
  const ScratchFolder folder;
  EventWriter writer = open(folder / "run");
  EXPECT_THAT(writer.path().filename().string(),
              MatchesRegex("events\\.out\\.tfevents\\.[0-9]+\\..+\\.[0-9]+\\.[0-9]+"));
  ASSERT_TRUE(writer.scalar(1, "accuracy", 0.75).ok());
  ASSERT_TRUE(writer.scalar(300, "loss", -1e-3).ok());
  ASSERT_TRUE(writer.flush().ok());
  const auto records = records_of(slurp(writer.path()));
  ASSERT_EQ(records.size(), 3u);

  auto version = fields_of(records[0]);
  EXPECT_EQ(version[3], "brain.Event:2");
  EXPECT_GT(as<double>(version[1]), 1.6e9) << "seconds since 1970";

  const std::vector<std::tuple<std::uint64_t, std::string, float>> wanted{{1, "accuracy", 0.75f},
                                                                          {300, "loss", -1e-3f}};
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    auto event = fields_of(records[i + 1]);
    EXPECT_EQ(as<std::uint64_t>(event[2]), std::get<0>(wanted[i]));
    auto value = fields_of(fields_of(event[5])[1]);
    EXPECT_EQ(value[1], std::get<1>(wanted[i]));
    EXPECT_EQ(as<float>(value[2]), std::get<2>(wanted[i]));
  }
}

// Of the plugin's tag: the bytes of its own message.
std::string plugin_content(const std::string& record, const std::string& tag, const std::string& plugin) {
  auto value = fields_of(fields_of(fields_of(record)[5])[1]);
  EXPECT_EQ(value[1], tag);
  EXPECT_EQ(as<std::uint64_t>(fields_of(value[8])[1]), 1u) << "a tensor of floats";
  auto metadata = fields_of(value[9]);
  EXPECT_EQ(as<std::uint64_t>(metadata[4]), 2u) << "the class of tensors";
  auto data = fields_of(metadata[1]);
  EXPECT_EQ(data[1], plugin);
  return data[2];
}

TEST(EventWriter, TellsTheTableOfHyperparametersOfTheRun) {
  const ScratchFolder folder;
  EventWriter writer = open(folder.path());
  ASSERT_TRUE(writer
                  .begin_session({{"local.learning-rate", "0.5"},
                                  {"data.normalize", "true"},
                                  {"model.name", "cnn"},
                                  {"model.hidden", "[16]"},
                                  {"budget", "inf"}})
                  .ok());
  ASSERT_TRUE(writer.end_session().ok());
  ASSERT_TRUE(writer.flush().ok());
  const auto records = records_of(slurp(writer.path()));
  ASSERT_EQ(records.size(), 3u);
  auto start = fields_of(plugin_content(records[1], "_hparams_/session_start_info", "hparams"));
  std::map<std::string, std::map<std::uint64_t, std::string>> hparams;
  double begun_s = 0;
  for (const ProtobufField& field : protobuf_fields(start[3])) {
    if (field.number == 5) begun_s = as<double>(field.bytes);
    if (field.number != 1) continue;
    auto entry = fields_of(field.bytes);
    hparams[entry[1]] = fields_of(entry[2]);
  }
  EXPECT_GT(begun_s, 1.6e9);
  ASSERT_EQ(hparams.size(), 5u);
  EXPECT_EQ(as<double>(hparams["local.learning-rate"][2]), 0.5);
  EXPECT_EQ(as<std::uint64_t>(hparams["data.normalize"][4]), 1u);
  EXPECT_EQ(hparams["model.name"][3], "cnn");
  EXPECT_EQ(hparams["model.hidden"][3], "[16]");
  EXPECT_EQ(hparams["budget"][3], "inf") << "the plugin's numbers are finite";
  auto end = fields_of(fields_of(plugin_content(records[2], "_hparams_/session_end_info", "hparams"))[4]);
  EXPECT_EQ(as<std::uint64_t>(end[1]), 1u) << "a success";
  EXPECT_GE(as<double>(end[2]), begun_s);
}

TEST(EventWriter, WritesPicturesWithTheirSize) {
  const ScratchFolder folder;
  EventWriter writer = open(folder.path());
  const Drawing drawing{.width = 30, .height = 20, .draw = [](Canvas& canvas) { canvas.fill(1, 1, 5, 5, {}); }};
  const std::string png = to_png(drawing).value();
  ASSERT_TRUE(writer.image(7, "groups", png).ok());
  EXPECT_FALSE(writer.image(8, "groups", "no picture").ok());
  ASSERT_TRUE(writer.flush().ok());
  const auto records = records_of(slurp(writer.path()));
  ASSERT_EQ(records.size(), 2u);
  auto event = fields_of(records[1]);
  EXPECT_EQ(as<std::uint64_t>(event[2]), 7u);
  auto value = fields_of(fields_of(event[5])[1]);
  EXPECT_EQ(value[1], "groups");
  auto picture = fields_of(value[4]);
  EXPECT_EQ(as<std::uint64_t>(picture[1]), 20u * kPixelsPerUnit);
  EXPECT_EQ(as<std::uint64_t>(picture[2]), 30u * kPixelsPerUnit);
  EXPECT_EQ(as<std::uint64_t>(picture[3]), 3u);
  EXPECT_EQ(picture[4], png);
}

TEST(EventWriter, AResumedRunSaysWhereItStarts) {
  const ScratchFolder folder;
  EventWriter first = open(folder.path());
  EventWriter second = open(folder.path(), 41);
  EXPECT_NE(first.path(), second.path());
  EXPECT_LT(first.path(), second.path());
  EXPECT_EQ(records_of(slurp(first.path())).size(), 1u);
  const auto records = records_of(slurp(second.path()));
  ASSERT_EQ(records.size(), 2u);
  auto event = fields_of(records[1]);
  EXPECT_EQ(as<std::uint64_t>(event[2]), 41u);
  EXPECT_EQ(as<std::uint64_t>(fields_of(event[7])[1]), 1u);
  EXPECT_EQ(records_of(slurp(open(folder.path(), 2).path())).size(), 2u);
  EXPECT_EQ(records_of(slurp(open(folder.path(), 1).path())).size(), 1u);
}

TEST(EventWriter, ManyEventsReachTheFileWithoutAFlush) {
  const ScratchFolder folder;
  std::filesystem::path path;
  {
    EventWriter writer = open(folder.path());
    path = writer.path();
    for (std::uint32_t round = 1; round <= 5000; ++round) ASSERT_TRUE(writer.scalar(round, "loss", 1.0 / round).ok());
    EXPECT_GT(std::filesystem::file_size(path), 100'000u);
    EventWriter moved = std::move(writer);
    ASSERT_TRUE(moved.scalar(5001, "loss", 0.0).ok());
  }
  EXPECT_EQ(records_of(slurp(path)).size(), 5002u);
}

TEST(EventWriter, AnUnwritableFolderIsAClearError) {
  const ScratchFolder folder;
  spit(folder / "file", "in the way");
  const auto writer = EventWriter::open(folder / "file" / "events");
  ASSERT_FALSE(writer.ok());
  EXPECT_THAT(writer.error().message, HasSubstr((folder / "file" / "events").string()));
}

}  // namespace
}  // namespace muster
