#include "recipe/toml_text.h"

#include "recipe/recipe.h"

namespace muster {
namespace {

using testing::HasSubstr;

std::string repeated(std::string_view part, std::size_t times) {
  std::string text;
  for (std::size_t i = 0; i < times; ++i) text += part;
  return text;
}

TEST(TomlText, NothingNestsDeepEnoughToOverflowTheStack) {
  constexpr std::size_t kMany = 200'000;
  const std::string dots = "a" + repeated(".a", kMany);
  const std::string spaced = "a" + repeated(" . \"a\"", kMany);
  for (const std::string& text :
       {dots + " = 1\n", "[" + dots + "]\n", "[[" + dots + "]]\n", "x = { " + dots + " = 1 }\n", spaced + " = 1\n",
        "x = " + repeated("[", kMany), "x = " + repeated("[", kMany) + repeated("]", kMany),
        "x = " + repeated("{a=", kMany), "x = \"\"\"\n\"\"\"\ny = " + repeated("[", kMany),
        "x = '''a'''''\n# '\ny = " + repeated("[", kMany), "x = \"\\\"\"\ny = " + repeated("[", kMany)}) {
    const auto parsed = parse_toml(text, "deep.toml");
    ASSERT_FALSE(parsed.ok()) << text.substr(0, 40);
    EXPECT_THAT(parsed.error().message, HasSubstr("nested too deep"));
    EXPECT_FALSE(parse_recipe(text, "deep.toml").ok());
  }
  Recipe recipe;
  EXPECT_FALSE(apply_setting(recipe, dots + "=1").ok());
  EXPECT_FALSE(apply_setting(recipe, "model.hidden=" + repeated("[", kMany)).ok());
  EXPECT_FALSE(apply_setting(recipe, "plan.groups=" + repeated("{a=", kMany)).ok());
  EXPECT_TRUE(apply_setting(recipe, "data.path=" + repeated("../", kMany)).ok());  // a bare word, which is no TOML
}

TEST(TomlText, RefusedNumbersAreShownAsTheyWereWritten) {
  Recipe recipe;
  for (const char* number : {"0.3", "0.1", "1e-30", "-2.5", "1234567.0"}) {
    const Status refused = apply_setting(recipe, std::string("secure.threshold=") + number);
    ASSERT_FALSE(refused.ok());
    EXPECT_THAT(refused.error().message, HasSubstr(std::string("secure.threshold: ") + number + ","));
  }
}

TEST(TomlText, WhatLooksDeepInAStringOrACommentIsNot) {
  const std::string brackets = repeated("[", 100);
  const std::string dots = repeated("a.", 100);
  for (const std::string& text :
       {"x = \"" + brackets + "\"\n", "x = '" + dots + "'\n", "# " + brackets + dots + "\nx = 1\n",
        "x = \"\"\"\n" + brackets + "\n\"\"\"\n", "x = '''\n" + brackets + "\n'''\n", "x = \"\\\"" + brackets + "\"\n",
        "x = [" + repeated("1.5, ", 100) + "1.5]\n"}) {
    const auto parsed = parse_toml(text, "flat.toml");
    EXPECT_TRUE(parsed.ok()) << parsed.error().message;
  }
  const auto at_line = parse_toml("x = \"\"\"\n\n\"\"\"\ny = 1\nz = " + brackets, "my.toml");
  ASSERT_FALSE(at_line.ok());
  EXPECT_THAT(at_line.error().message, HasSubstr("my.toml:5: "));
}

TEST(TomlText, StringsSurviveWritingAndReading) {
  for (const std::string& text : {std::string("plain"), std::string("a \"b\" \\ c"), std::string("a\nb\tc\x01\x7f"),
                                  std::string("\xc3\xa4 \xf0\x9f\x90\x9d"), std::string("'''")}) {
    const auto parsed = parse_toml("x = " + toml_string(text) + "\n", "");
    ASSERT_TRUE(parsed.ok()) << parsed.error().message;
    EXPECT_EQ((*parsed)["x"].value<std::string>(), text);
  }
}

TEST(TomlText, KnowsWhatIsText) {
  for (const char* good : {"", "abc", "\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x90\x9d"}) EXPECT_TRUE(is_utf8(good));
  for (const char* bad : {"\xff", "\xc3", "\xc0\x80", "\xe2\x82", "\xed\xa0\x80", "\xf5\x80\x80\x80", "\x80"}) {
    EXPECT_FALSE(is_utf8(bad));
  }
  Recipe recipe;
  const Status status = apply_setting(recipe, "data.path=\xff");
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, HasSubstr("not UTF-8"));
}

}  // namespace
}  // namespace muster
