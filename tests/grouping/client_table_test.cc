#include "grouping/client_table.h"

#include <cmath>
#include <cstring>

#include "base/file.h"
#include "scratch_folder.h"

namespace muster {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

template <typename T>
std::string error_of(const Result<T>& result) {
  return result ? "no error" : result.error().message;
}

TEST(LabelCounts, HeaderIsOptional) {
  for (const char* text : {"c0,c1\n8,0\n1, 7\n", "8,0\n1,7\n", "\xef\xbb\xbf\"a\",\"b\"\r\n8,0\r\n1,7.0\r\n\r\n"}) {
    const auto rows = parse_label_counts(text);
    ASSERT_TRUE(rows) << error_of(rows);
    EXPECT_EQ(rows->count(), 2u);
    EXPECT_THAT(rows->values, ElementsAre(8, 0, 1, 7));
  }
}

TEST(LabelCounts, ErrorsNameLineColumnAndValue) {
  EXPECT_EQ(error_of(parse_label_counts("a,b\n1,2\n3,-4\n")),
            "line 3, column 2: '-4', want a whole number from 0 to 4294967295");
  EXPECT_THAT(error_of(parse_label_counts("1,2.5\n")), HasSubstr("line 1, column 2: '2.5'"));
  EXPECT_THAT(error_of(parse_label_counts("1,nan\n")), HasSubstr("'nan'"));
  EXPECT_THAT(error_of(parse_label_counts("1,99999999999\n")), HasSubstr("'99999999999'"));
  EXPECT_EQ(error_of(parse_label_counts("1,2\n3,x\n")), "line 2, column 2: 'x', not a number");
  EXPECT_EQ(error_of(parse_label_counts("1,2\n3,\n")), "line 2, column 2: '', not a number");
  EXPECT_EQ(error_of(parse_label_counts("1,2\n3\n")), "line 2: 1 columns, want 2 as in the first line");
  EXPECT_EQ(error_of(parse_label_counts("")), "no clients: want a row of numbers for each");
  EXPECT_EQ(error_of(parse_label_counts("a,b\n")), "no clients: want a row of numbers for each");
  EXPECT_THAT(error_of(parse_label_counts("1,2\n4294967295,1\n")), HasSubstr("client 1: 4294967296 samples"));
}

TEST(Vectors, TakeAnyNumbers) {
  const auto rows = parse_vectors("0.5,-2e3\nnan,inf\n");
  ASSERT_TRUE(rows);
  EXPECT_EQ(rows->row(0)[1], -2000.0f);
  EXPECT_TRUE(std::isnan(rows->row(1)[0]));
  EXPECT_TRUE(std::isinf(rows->row(1)[1]));
}

std::vector<std::uint8_t> npy(const std::string& shape, const std::vector<float>& values) {
  const std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': " + shape + ", }\n";
  std::string bytes = "\x93NUMPY\x01";
  bytes += '\0';
  bytes += static_cast<char>(header.size());
  bytes += '\0';
  bytes += header;
  bytes.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
  return {bytes.begin(), bytes.end()};
}

TEST(Vectors, ComeFromNumPyToo) {
  const auto rows = parse_vectors_npy(npy("(2, 3)", {1, 2, 3, 4, 5, 6}));
  ASSERT_TRUE(rows) << error_of(rows);
  EXPECT_EQ(rows->count(), 2u);
  EXPECT_THAT(rows->row(1), ElementsAre(4, 5, 6));
  const auto column = parse_vectors_npy(npy("(2,)", {7, 8}));
  ASSERT_TRUE(column) << error_of(column);
  EXPECT_EQ(column->width, 1u);
  EXPECT_EQ(error_of(parse_vectors_npy(npy("(1, 1, 2)", {7, 8}))),
            "an array of 3 dimensions, want 2: clients x values");
  EXPECT_EQ(error_of(parse_vectors_npy(npy("(0, 4)", {}))), "no clients: want a row of numbers for each");
  EXPECT_NE(error_of(parse_vectors_npy(npy("(2, 3)", {1, 2}))), "no error");
}

TEST(Sizes, AreOneColumn) {
  EXPECT_THAT(*parse_sizes("samples\n10\n0\n"), ElementsAre(10, 0));
  EXPECT_EQ(error_of(parse_sizes("1,2\n")), "2 columns, want 1: the samples of each client");
}

TEST(ClientTable, PassesOverAColumnOfNames) {
  const auto counts = parse_label_counts("client,neg,pos\n\"s,0\",10,0\n7,3,4\n");
  ASSERT_TRUE(counts) << counts.error().message;
  EXPECT_EQ(counts->width, 2u);
  EXPECT_THAT(counts->values, ElementsAre(10, 0, 3, 4));
  EXPECT_THAT(*parse_sizes("name,size\na,5\nb,6\n"), ElementsAre(5, 6));
}

TEST(Names, BecomeNumbersAndMayHaveAHeader) {
  EXPECT_THAT(*parse_names("south\nnorth\nsouth\n", 3), ElementsAre(1, 0, 1));
  EXPECT_THAT(*parse_names("edge\nsouth\nnorth\nsouth\n", 3), ElementsAre(1, 0, 1));
  EXPECT_THAT(*parse_names("2\n0\n1\n", 3), ElementsAre(2, 0, 1));
  EXPECT_THAT(*parse_names("edge\n20\n10\n", 2), ElementsAre(1, 0));
  EXPECT_EQ(error_of(parse_names("a\nb\n", 5)), "2 rows, want one for each of the 5 clients");
  EXPECT_EQ(error_of(parse_names("a,b\n", 1)), "line 1: 2 columns, want 1");
}

TEST(ClientFiles, ErrorsNameTheFile) {
  const ScratchFolder scratch;
  const auto path = scratch.path() / "bad.csv";
  ASSERT_TRUE(write_file(path, "1,2\n3\n"));
  EXPECT_THAT(error_of(read_label_counts(path)), HasSubstr("bad.csv: line 2"));
  EXPECT_THAT(error_of(read_vectors(scratch.path() / "missing.npy")), HasSubstr("missing.npy"));
}

}  // namespace
}  // namespace muster
