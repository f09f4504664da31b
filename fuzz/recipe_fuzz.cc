#include <string_view>

#include "base/check.h"
#include "recipe/recipe.h"

namespace {

// What is accepted can be written, read back to the same, and is accepted again.
void check_round_trip(const muster::Recipe& recipe) {
  (void)muster::describe_recipe(recipe);
  (void)muster::recipe_notes(recipe);
  if (const muster::Status status = muster::check_recipe(recipe); !status) {
    MUSTER_CHECK(status.error().message.find('\n') == std::string::npos, "{}", status.error().message);
    return;
  }
  for (const bool all : {false, true}) {
    const std::string text = muster::format_recipe(recipe, all);
    const auto again = muster::parse_recipe(text, "again");
    MUSTER_CHECK(again.ok(), "{}\n{}", again.error().message, text);
    MUSTER_CHECK(*again == recipe, "not the same:\n{}\n{}", text, muster::format_recipe(*again, all));
    const muster::Status status = muster::check_recipe(*again);
    MUSTER_CHECK(status.ok(), "{}\n{}", status.error().message, text);
  }
}

}  // namespace

// The first line is a recipe's name or nothing; lines up to an empty one are settings; the rest is a recipe of its own.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto next_line = [&] {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(text.size(), end + 1));
    return line;
  };
  muster::Recipe recipe;
  const std::string_view name = next_line();
  for (const muster::BuiltInRecipe& built_in : muster::built_in_recipes()) {
    if (built_in.name != name) continue;
    auto parsed = muster::parse_recipe(built_in.toml, "built in");
    if (parsed) recipe = *parsed;
  }
  while (true) {
    const std::string_view line = next_line();
    if (line.empty()) break;
    if (const muster::Status status = muster::apply_setting(recipe, line); !status) {
      MUSTER_CHECK(status.error().message.find('\n') == std::string::npos, "{}", status.error().message);
    }
  }
  check_round_trip(recipe);
  if (const auto parsed = muster::parse_recipe(text, "fuzzed")) {
    check_round_trip(*parsed);
  } else {
    MUSTER_CHECK(parsed.error().message.find('\n') == std::string::npos, "{}", parsed.error().message);
  }
  return 0;
}
