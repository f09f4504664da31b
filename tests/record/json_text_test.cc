#include "record/json_text.h"

namespace muster {
namespace {

TEST(JsonText, ReplacesWhatIsNotUtf8) {
  EXPECT_EQ(json_text(nlohmann::ordered_json{{"dir",
                                              "runs/a\xff"
                                              "b"}}),
            "{\"dir\":\"runs/a\xef\xbf\xbd"
            "b\"}");
  EXPECT_EQ(json_text(nlohmann::json{{"b", 1}, {"a", "\xc3\xa9\n"}}), "{\"a\":\"\xc3\xa9\\n\",\"b\":1}");
}

TEST(ParseJson, RefusesWhatIsNotJson) {
  for (const char* bad : {"", "{", "{]", "nul", "{\"a\":1}}", "\"\xff\""}) {
    const auto parsed = parse_json(bad);
    ASSERT_FALSE(parsed.ok()) << bad;
    EXPECT_EQ(parsed.error().message, "not JSON");
  }
  EXPECT_EQ((*parse_json("{\"a\":[1,2]}"))["a"][1], 2);
}

TEST(ParseJson, RefusesDeepNestingBeforeItParses) {
  const auto nested = [](std::size_t levels) { return std::string(levels, '[') + std::string(levels, ']'); };
  EXPECT_TRUE(parse_json(nested(kMostJsonLevels)).ok());
  EXPECT_EQ(parse_json(nested(kMostJsonLevels + 1)).error().message, "JSON nested more than 32 levels deep");
  EXPECT_FALSE(parse_json(nested(10'000'000)).ok());
  EXPECT_FALSE(parse_json(std::string(1'000'000, '[')).ok());
  std::string objects;
  for (int i = 0; i < 100000; ++i) objects += "{\"a\":";
  EXPECT_FALSE(parse_json(objects).ok());
  EXPECT_TRUE(parse_json("[[1],[2],[3]]", 2).ok());
  EXPECT_FALSE(parse_json("[[1],[2],[[3]]]", 2).ok());
}

TEST(ParseJson, BracketsInTextAreNotNesting) {
  EXPECT_TRUE(parse_json("[\"" + std::string(100, '[') + "\"]").ok());
  EXPECT_TRUE(parse_json("[\"\\\"" + std::string(100, '{') + "\"]").ok());
  // An escaped backslash ends the escape, so the text ends there.
  EXPECT_FALSE(parse_json("[\"\\\\\"," + std::string(100, '[') + "\"]").ok());
}

}  // namespace
}  // namespace muster
