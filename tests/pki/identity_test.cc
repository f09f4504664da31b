// Who somebody is: roles, names and ranges of clients as text.
#include "pki/identity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Identity, IsReadAsItIsWritten) {
  for (const Role role : {Role::kCloud, Role::kEdge, Role::kClient}) {
    const Result<Identity> read = identity_from_uris(identity_uris({.role = role, .name = "Site-3.b_1"}));
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->role, role);
    EXPECT_EQ(read->name, "Site-3.b_1");
    EXPECT_TRUE(read->clients.empty());
  }
  const Result<Identity> many =
      identity_from_uris(identity_uris({.role = Role::kClient, .name = "sim-0", .clients = {{0, 49}, {60, 60}}}));
  ASSERT_TRUE(many) << many.error().message;
  EXPECT_THAT(many->clients, ElementsAre(ClientRange{0, 49}, ClientRange{60, 60}));
  EXPECT_TRUE(many->stands_for(0));
  EXPECT_TRUE(many->stands_for(49));
  EXPECT_FALSE(many->stands_for(50));
  EXPECT_TRUE(many->stands_for(60));
  EXPECT_EQ(many->shown(), "client sim-0");
}

TEST(Identity, OthersUrisArePassedOver) {
  const Result<Identity> read = identity_from_uris({"https://example.org", "muster:edge:e1", "spiffe://muster:x"});
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->shown(), "edge e1");
}

TEST(Identity, AnythingButOneRoleIsRefused) {
  const auto refusal = [](const std::vector<std::string>& uris) {
    const Result<Identity> read = identity_from_uris(uris);
    EXPECT_FALSE(read);
    return read ? "" : read.error().message;
  };
  EXPECT_THAT(refusal({}), HasSubstr("names no role"));
  EXPECT_THAT(refusal({"muster:clients:0-3"}), HasSubstr("names no role"));
  EXPECT_THAT(refusal({"muster:edge:a", "muster:client:a"}), HasSubstr("more than one role"));
  EXPECT_THAT(refusal({"muster:client:a", "muster:client:a"}), HasSubstr("more than one role"));
  EXPECT_THAT(refusal({"muster:boss:a"}), HasSubstr("role 'boss': want cloud, edge or client"));
  EXPECT_THAT(refusal({"muster:edge"}), HasSubstr("want muster:ROLE:NAME"));
  EXPECT_THAT(refusal({"muster:client:a", "muster:clients:0-3", "muster:clients:4"}), HasSubstr("clients twice"));
  EXPECT_THAT(refusal({"muster:edge:a", "muster:clients:0-3"}), HasSubstr("names clients, but is of edge a"));
  EXPECT_THAT(refusal({std::string("muster:client:a\0b", 17)}), HasSubstr("name 'a\\x00b'"));
  EXPECT_THAT(refusal({"muster:client:a\x1b[2J"}), HasSubstr("name 'a\\x1b[2J'"));
  EXPECT_THAT(refusal({"muster:client:a:b"}), HasSubstr("name 'a:b'"));
}

TEST(Identity, NamesAreFileNamesToo) {
  EXPECT_TRUE(check_name("a"));
  EXPECT_TRUE(check_name(std::string(64, 'x')));
  for (const std::string& bad : {std::string(), std::string(65, 'x'), std::string("a b"), std::string("../a"),
                                 std::string(".a"), std::string("-a"), std::string("a/b"), std::string("K\xc3\xb6ln"),
                                 std::string("a\nb"), std::string("a\0", 2)}) {
    const Status status = check_name(bad);
    ASSERT_FALSE(status) << bad;
    EXPECT_THAT(status.error().message, HasSubstr("want 1 to 64 of A-Z a-z 0-9 . _ -"));
    EXPECT_EQ(status.error().message.find('\n'), std::string::npos);
  }
}

TEST(Identity, RangesAreAscendingAndWhole) {
  for (const char* text : {"0", "7-7", "0-49", "0-9,20-29,31", "4294967295"}) {
    const auto ranges = parse_client_ranges(text);
    ASSERT_TRUE(ranges) << ranges.error().message;
    EXPECT_EQ(to_string(*ranges), text == std::string("7-7") ? "7" : text);
  }
  for (const char* text : {"", ",", "1,", "1-", "-1", "5-4", "0-9,9", "3,2", "a", "1 2", "4294967296", "0x1", "+1"}) {
    const auto ranges = parse_client_ranges(text);
    ASSERT_FALSE(ranges) << text;
    EXPECT_THAT(ranges.error().message, HasSubstr("want ascending numbers and ranges"));
  }
  std::string many = "0";
  for (std::uint32_t i = 1; i <= kMostRanges; ++i) many += fmt::format(",{}", 2 * i);
  EXPECT_FALSE(parse_client_ranges(many));
}

}  // namespace
}  // namespace muster
