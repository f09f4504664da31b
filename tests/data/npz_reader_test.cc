#include <zlib.h>

#include <cmath>
#include <cstring>

#include "data/error_text.h"
#include "data/little_endian.h"
#include "data/prepared_rows.h"
#include "data/readers/npy.h"
#include "data/readers/npz.h"
#include "data/readers/zip.h"
#include "scratch_folder.h"

namespace muster {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Bytes = std::vector<std::uint8_t>;

template <typename T>
Bytes raw(const std::vector<T>& values) {
  Bytes bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

Bytes npy_with_header(const std::string& header, const Bytes& payload, std::uint8_t version = 1) {
  Bytes bytes{0x93, 'N', 'U', 'M', 'P', 'Y', version, 0};
  put(bytes, header.size(), version == 1 ? 2 : 4);
  bytes.insert(bytes.end(), header.begin(), header.end());
  bytes.insert(bytes.end(), payload.begin(), payload.end());
  return bytes;
}

Bytes npy(const std::string& descr, const std::string& shape, const Bytes& payload, std::uint8_t version = 1) {
  return npy_with_header("{'descr': '" + descr + "', 'fortran_order': False, 'shape': (" + shape + "), }  \n", payload,
                         version);
}

struct Member {
  std::string name;
  Bytes bytes;
  bool deflated = false;
};

Bytes deflated(const Bytes& bytes) {
  z_stream stream{};
  deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  Bytes out(deflateBound(&stream, bytes.size()));
  stream.next_in = const_cast<Bytef*>(bytes.data());
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = out.data();
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  const auto used = static_cast<std::ptrdiff_t>(stream.total_out);
  deflateEnd(&stream);
  return Bytes(out.begin(), out.begin() + used);
}

Bytes zip(const std::vector<Member>& members) {
  Bytes file;
  Bytes directory;
  for (const Member& member : members) {
    const Bytes packed = member.deflated ? deflated(member.bytes) : member.bytes;
    const auto crc = crc32(0, member.bytes.data(), static_cast<uInt>(member.bytes.size()));
    const std::size_t offset = file.size();
    const auto common = [&](Bytes& out) {
      put(out, member.deflated ? 8 : 0, 2);
      put(out, 0, 4);
      put(out, crc, 4);
      put(out, packed.size(), 4);
      put(out, member.bytes.size(), 4);
      put(out, member.name.size(), 2);
      put(out, 0, 2);
    };
    put(file, 0x04034b50, 4);
    put(file, 20, 2);
    put(file, 0, 2);
    common(file);
    file.insert(file.end(), member.name.begin(), member.name.end());
    file.insert(file.end(), packed.begin(), packed.end());
    put(directory, 0x02014b50, 4);
    put(directory, 20, 2);
    put(directory, 20, 2);
    put(directory, 0, 2);
    common(directory);
    put(directory, 0, 2);
    put(directory, 0, 2);
    put(directory, 0, 2);
    put(directory, 0, 4);
    put(directory, offset, 4);
    directory.insert(directory.end(), member.name.begin(), member.name.end());
  }
  const std::size_t offset = file.size();
  file.insert(file.end(), directory.begin(), directory.end());
  put(file, 0x06054b50, 4);
  put(file, 0, 4);
  put(file, members.size(), 2);
  put(file, members.size(), 2);
  put(file, directory.size(), 4);
  put(file, offset, 4);
  put(file, 0, 2);
  return file;
}

TEST(NpyReader, ReadsEveryType) {
  const auto first = [](const std::string& descr, const Bytes& payload) {
    const Bytes file = npy(descr, "1,", payload);
    auto array = parse_npy(file);
    return array ? array->at(0) : std::nan("");
  };
  EXPECT_EQ(first("|b1", {5}), 1);
  EXPECT_EQ(first("|i1", {0xff}), -1);
  EXPECT_EQ(first("|u1", {0xff}), 255);
  EXPECT_EQ(first("<u1", {7}), 7);
  EXPECT_EQ(first("<i2", raw<std::int16_t>({-300})), -300);
  EXPECT_EQ(first("<u2", raw<std::uint16_t>({65535})), 65535);
  EXPECT_EQ(first("<i4", raw<std::int32_t>({-70000})), -70000);
  EXPECT_EQ(first("<u4", raw<std::uint32_t>({4000000000})), 4000000000.0);
  EXPECT_EQ(first("<i8", raw<std::int64_t>({-5000000000})), -5e9);
  EXPECT_EQ(first("<u8", raw<std::uint64_t>({1ull << 63})), 9223372036854775808.0);
  EXPECT_EQ(first("<f4", raw<float>({1.5f})), 1.5);
  EXPECT_EQ(first("<f8", raw<double>({-2.25})), -2.25);
  EXPECT_EQ(first("<f2", {0x00, 0x3c}), 1);
  EXPECT_EQ(first("<f2", {0xff, 0xfb}), -65504);
  EXPECT_EQ(first("<f2", {0x01, 0x00}), std::ldexp(1, -24));
  EXPECT_TRUE(std::isinf(first("<f2", {0x00, 0x7c})));
}

TEST(NpyReader, ReadsEveryVersionAndASingleNumber) {
  for (const std::uint8_t version : {1, 2, 3}) {
    const Bytes file = npy("<i2", "2, 1", raw<std::int16_t>({3, 4}), version);
    auto array = parse_npy(file);
    ASSERT_TRUE(array) << error_of(array);
    EXPECT_THAT(array->dims, ElementsAre(2, 1));
    EXPECT_EQ(array->at(1), 4);
  }
  const Bytes single = npy("|u1", "", {9});
  auto array = parse_npy(single);
  ASSERT_TRUE(array) << error_of(array);
  EXPECT_THAT(array->dims, IsEmpty());
  EXPECT_EQ(array->at(0), 9);
}

TEST(NpyReader, RefusesBrokenArrays) {
  const auto error = [](const Bytes& file) { return error_of(parse_npy(file)); };
  EXPECT_THAT(error({1, 2, 3}), HasSubstr("wrong magic"));
  EXPECT_THAT(error(npy("<f4", "1,", {0, 0, 0, 0}, 4)), HasSubstr("version 4"));
  EXPECT_THAT(error({0x93, 'N', 'U', 'M', 'P', 'Y', 2, 0, 1, 0}), HasSubstr("truncated .npy header"));
  EXPECT_THAT(error({0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, 9, 0, '{'}), HasSubstr("truncated .npy header"));
  EXPECT_THAT(error(npy_with_header("{'descr': '<f4', 'fortran_order': True, 'shape': (1,)}", {0, 0, 0, 0})),
              HasSubstr("fortran_order is True"));
  EXPECT_THAT(error(npy_with_header("{'descr': '<f4', 'shape': (1,)}", {0, 0, 0, 0})), HasSubstr("broken .npy header"));
  EXPECT_THAT(error(npy_with_header("{'descr': [('a', '<f4')], 'shape': (1,)}", {})), HasSubstr("structured"));
  EXPECT_THAT(error(npy_with_header("junk", {})), HasSubstr("broken .npy header"));
  EXPECT_THAT(error(npy(">f4", "1,", {0, 0, 0, 0})), HasSubstr("dtype '>f4' is not supported"));
  EXPECT_THAT(error(npy("|O", "1,", {0})), HasSubstr("dtype '|O'"));
  EXPECT_THAT(error(npy("<f4", "2,", {0, 0, 0, 0})), HasSubstr("truncated"));
  EXPECT_THAT(error(npy("<f4", "", {})), HasSubstr("no data"));
  EXPECT_THAT(error(npy("<f4", "1,", {0, 0, 0, 0, 0})), HasSubstr("1 trailing bytes"));
  EXPECT_THAT(error(npy("|u1", "4294967296, 4294967296, 4294967296", {0})), HasSubstr("truncated"));
  EXPECT_THAT(error(npy("|u1", "99999999999999999999,", {0})), HasSubstr("broken .npy header"));
  EXPECT_THAT(error(npy("|u1", "-1,", {0})), HasSubstr("broken .npy header"));
}

TEST(ZipReader, ReadsStoredAndDeflatedMembers) {
  const Bytes text(1000, 'a');
  auto members = unzip(zip({{"one", text, true}, {"two", {1, 2, 3}}, {"none", {}, true}}), 1 << 20);
  ASSERT_TRUE(members) << error_of(members);
  ASSERT_EQ(members->size(), 3u);
  EXPECT_EQ((*members)[0].name, "one");
  EXPECT_EQ((*members)[0].bytes, text);
  EXPECT_THAT((*members)[1].bytes, ElementsAre(1, 2, 3));
  EXPECT_THAT((*members)[2].bytes, IsEmpty());
}

TEST(ZipReader, RefusesBrokenArchives) {
  const Bytes good = zip({{"one", Bytes(1000, 'a'), true}, {"two", {1, 2, 3}}});
  const auto error = [](Bytes bytes) { return error_of(unzip(bytes, 1 << 20)); };
  EXPECT_THAT(error({'P', 'K'}), HasSubstr("not a zip archive"));
  EXPECT_THAT(error(Bytes(100, 0)), HasSubstr("no end record"));
  EXPECT_THAT(error(Bytes(good.begin(), good.end() - 1)), HasSubstr("no end record"));
  EXPECT_THAT(error_of(unzip(good, 1002)), HasSubstr("unpacks to 1003 bytes, the limit is 1002"));
  const std::size_t directory = good.size() - 22 - 2 * 49;
  const auto changed = [&](std::size_t at, std::uint8_t value) {
    Bytes bytes = good;
    bytes[at] = value;
    return bytes;
  };
  EXPECT_THAT(error(changed(directory, 0)), HasSubstr("broken zip directory"));
  EXPECT_THAT(error(changed(directory + 8, 1)), HasSubstr("'one' is encrypted"));
  EXPECT_THAT(error(changed(directory + 10, 99)), HasSubstr("method 99"));
  EXPECT_THAT(error(changed(directory + 16, 0)), HasSubstr("'one': checksum"));
  EXPECT_THAT(error(changed(directory + 22, 1)), HasSubstr("overlap"));
  EXPECT_THAT(error(changed(directory + 24, 0xff)), HasSubstr("broken deflate data"));
  EXPECT_THAT(error(changed(directory + 26, 8)), HasSubstr("cannot unpack to"));
  EXPECT_THAT(error(changed(directory + 42, 1)), HasSubstr("no member where"));
  EXPECT_THAT(error(changed(directory + 45, 1)), HasSubstr("no member where"));
  EXPECT_THAT(error(changed(good.size() - 3, 0x7f)), HasSubstr("outside the file"));
  EXPECT_THAT(error(changed(40, 0x55)), HasSubstr("'one'"));
}

const Member kX{"x.npy", npy("<f4", "3, 2", raw<float>({1, 2, 3, 4, 5, 6})), true};
const Member kY{"y.npy", npy("<i8", "3,", raw<std::int64_t>({0, 1, 1}))};

std::string npz_error(const std::vector<Member>& members, const TableOptions& options = {}) {
  return error_of(parse_npz(zip(members), options));
}

TEST(NpzReader, ReadsRowsAndLabels) {
  auto data = parse_npz(zip({kX, kY}), {});
  ASSERT_TRUE(data) << error_of(data);
  EXPECT_EQ(data->train.storage, Samples::Storage::kFloats);
  EXPECT_EQ(data->train.shape, (Shape{1, 1, 2}));
  EXPECT_THAT(data->train.floats, ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(data->train.labels, ElementsAre(0, 1, 1));
  EXPECT_EQ(data->train.classes, 2u);
}

TEST(NpzReader, BytesStayBytesAndImagesKeepTheirShape) {
  auto gray =
      parse_npz(zip({{"x.npy", npy("|u1", "1, 2, 3", {1, 2, 3, 4, 5, 6})}, {"y.npy", npy("|u1", "1,", {0})}}), {});
  ASSERT_TRUE(gray) << error_of(gray);
  EXPECT_EQ(gray->train.storage, Samples::Storage::kBytes);
  EXPECT_EQ(gray->train.shape, (Shape{2, 3, 1}));
  auto colour =
      parse_npz(zip({{"x.npy", npy("|u1", "1, 1, 2, 3", {1, 2, 3, 4, 5, 6})}, {"y.npy", npy("|u1", "1,", {0})}}), {});
  ASSERT_TRUE(colour) << error_of(colour);
  EXPECT_EQ(colour->train.shape, (Shape{1, 2, 3}));
  auto flat = parse_npz(zip({kX, kY}), {.shape = {2, 1, 1}});
  ASSERT_TRUE(flat) << error_of(flat);
  EXPECT_EQ(flat->train.shape, (Shape{2, 1, 1}));
  EXPECT_THAT(npz_error({kX, kY}, {.shape = {2, 2, 1}}), HasSubstr("[2, 2, 1] is not a row's 2 features"));
}

TEST(NpzReader, LabelClientAndSplitByName) {
  const Member client{"client.npy", npy("<i4", "3,", raw<std::int32_t>({20, 10, 20}))};
  const Member split{"split.npy", npy("|u1", "3, 1", {0, 0, 1})};
  const Member target{"target.npy", npy("<f8", "3,", raw<double>({5, 7, 5}))};
  auto data = parse_npz(zip({kX, kY, client, split, target}), {.label = "target"});
  ASSERT_TRUE(data) << error_of(data);
  EXPECT_THAT(data->train.labels, ElementsAre(0, 1));
  EXPECT_THAT(data->test.labels, ElementsAre(0));
  EXPECT_THAT(data->class_names, ElementsAre("5", "7"));
  EXPECT_THAT(data->client_names, ElementsAre("10", "20"));
  EXPECT_THAT(data->train_clients, ElementsAre(1, 0));
  EXPECT_THAT(data->test_clients, ElementsAre(1));
  EXPECT_THAT(npz_error({kX, kY}, {.label = "target"}), HasSubstr("label: no array 'target', there are x.npy, y.npy"));
  EXPECT_THAT(npz_error({kX, kY}, {.client = "user"}), HasSubstr("client: no array 'user'"));
  EXPECT_THAT(npz_error({kX, kY}, {.split = "part"}), HasSubstr("split: no array 'part'"));
}

TEST(PreparedArrays, AreReadAsInTraining) {
  const Preparation floats{.source = "npz",
                           .shape = {2, 1, 1},  // a flat row of two will do
                           .scale = {2},
                           .offset = {1},
                           .classes = {"1", "7"},
                           .label = "target",
                           .client = "user"};
  const Member target{"target.npy", npy("<f8", "3,", raw<double>({7, 1, 7}))};
  const Member user{"user.npy", npy("<i4", "3,", raw<std::int32_t>({20, 10, 20}))};
  auto rows = prepare_arrays(zip({kX, target, user}), floats);
  ASSERT_TRUE(rows) << error_of(rows);
  EXPECT_THAT(rows->samples.floats, ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_EQ(rows->samples.shape, (Shape{2, 1, 1}));
  EXPECT_THAT(rows->samples.scale, ElementsAre(2));
  EXPECT_THAT(rows->samples.labels, ElementsAre(1, 0, 1));
  EXPECT_TRUE(rows->has_labels);
  EXPECT_THAT(rows->clients, ElementsAre("20", "10", "20"));
  EXPECT_THAT(rows->lines, ElementsAre(0, 1, 2));
  auto bare = prepare_arrays(zip({kX}), floats);
  ASSERT_TRUE(bare) << error_of(bare);
  EXPECT_FALSE(bare->has_labels);
  EXPECT_THAT(bare->clients, IsEmpty());

  EXPECT_THAT(error_of(prepare_arrays(zip({kX, kY}), floats)), HasSubstr("row 0: label 0 is not among the 2 classes"));
  EXPECT_THAT(error_of(prepare_arrays(zip({kY}), floats)), HasSubstr("no array 'x'"));
  Preparation wider = floats;
  wider.shape = {1, 1, 3};
  EXPECT_THAT(error_of(prepare_arrays(zip({kX}), wider)), HasSubstr("rows of 1 x 1 x 2, want 1 x 1 x 3"));
  Preparation bytes = floats;
  bytes.storage = Samples::Storage::kBytes;
  EXPECT_THAT(error_of(prepare_arrays(zip({kX}), bytes)), HasSubstr("not of type uint8, but the model was trained on"));
  const Member pixels{"x.npy", npy("|u1", "1, 2", {3, 4})};
  EXPECT_THAT(error_of(prepare_arrays(zip({pixels}), floats)), HasSubstr("of type uint8, but"));
  auto image = prepare_arrays(zip({pixels}), bytes);
  ASSERT_TRUE(image) << error_of(image);
  EXPECT_THAT(image->samples.bytes, ElementsAre(3, 4));
}

TEST(NpzReader, RefusesArraysThatDoNotFit) {
  EXPECT_THAT(npz_error({kY}), HasSubstr("no array 'x', there are y.npy"));
  EXPECT_THAT(npz_error({kX}), HasSubstr("no array 'y'"));
  EXPECT_THAT(npz_error({kX, {"y.npy", npy("|u1", "2,", {0, 1})}}),
              HasSubstr("array 'y': (2), want one number for each of the 3"));
  EXPECT_THAT(npz_error({kX, {"y.npy", npy("|u1", "1, 3", {0, 1, 1})}}), HasSubstr("want one number for each"));
  EXPECT_THAT(npz_error({kX, kY, {"split.npy", npy("|u1", "3,", {0, 1, 2})}}), HasSubstr("array 'split': row 2 is 2"));
  EXPECT_THAT(npz_error({{"x.npy", npy("<f4", "3, 1", raw<float>({0, NAN, 0}))}, kY}),
              HasSubstr("array 'x': row 1: nan"));
  EXPECT_THAT(npz_error({{"x.npy", npy("<f8", "3, 1", raw<double>({0, 0, 1e300}))}, kY}), HasSubstr("row 2"));
  EXPECT_THAT(npz_error({kX, {"y.npy", npy("<f4", "3,", raw<float>({0, 0, INFINITY}))}}),
              HasSubstr("array 'y': row 2 is inf"));
  EXPECT_THAT(npz_error({{"x.npy", npy("|u1", "0, 4", {})}, {"y.npy", npy("|u1", "0,", {})}}), HasSubstr("is empty"));
  EXPECT_THAT(npz_error({{"x.npy", npy("|u1", "1, 1, 1, 1, 1", {3})}, {"y.npy", npy("|u1", "1,", {0})}}),
              HasSubstr("5 dimensions"));
  EXPECT_THAT(npz_error({{"x.npy", npy("|u1", "", {3})}, {"y.npy", npy("|u1", "1,", {0})}}), HasSubstr("0 dimensions"));
}

TEST(NpzReader, PathErrorsNameTheFile) {
  const ScratchFolder folder;
  EXPECT_THAT(error_of(read_npz(folder.write("bad.npz", std::string("hello")), {})), HasSubstr("bad.npz: not a zip"));
}

}  // namespace
}  // namespace muster
