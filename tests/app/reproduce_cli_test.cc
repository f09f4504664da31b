// `muster reproduce`: every target at smoke, the list, the page, and what it refuses.
#include <nlohmann/json.hpp>

#include "command_line.h"
#include "engine/reproduction_target.h"

namespace muster {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class Reproduce : public CommandLineTest {
 protected:
  std::string out() const { return (scratch_.path() / "out").string(); }
  nlohmann::json smoke(const std::string& target) const {
    const Finished finished = muster({"reproduce", target, "--scale", "smoke", "--out", out(), "--json", "--quiet"});
    EXPECT_EQ(finished.status, 0) << target << ": " << finished.err;
    return finished.status == 0 ? nlohmann::json::parse(finished.out) : nlohmann::json();
  }
};

class SmokeOf : public Reproduce, public testing::WithParamInterface<std::string> {};

TEST_P(SmokeOf, HasANumberInEveryRowThatHasARecipe) {
  const nlohmann::json result = smoke(GetParam());
  ASSERT_TRUE(result.is_object());
  EXPECT_EQ(result["target"], GetParam());
  EXPECT_EQ(result["scale"], "smoke");
  ASSERT_FALSE(result["rows"].empty());
  std::size_t numbers = 0;
  for (const auto& row : result["rows"]) {
    for (const char* field : {"row", "ours", "paper", "note"}) EXPECT_TRUE(row.contains(field)) << field;
    const bool missing = row["note"].get<std::string>().starts_with("no recipe yet");
    EXPECT_EQ(missing, row["ours"].is_null() && row["ours_never"] == false) << row;
    numbers += row["ours"].is_number() ? 1 : 0;
  }
  EXPECT_GT(numbers, 0u);
}

INSTANTIATE_TEST_SUITE_P(Targets, SmokeOf, testing::ValuesIn(target_names()), [](const auto& target) {
  std::string name = target.param;
  std::ranges::replace_if(
      name, [](char c) { return c == ':' || c == '-'; }, '_');
  return name;
});

TEST_F(Reproduce, ListsTargetsWithTheirTimes) {
  const Finished finished = muster({"reproduce"});
  EXPECT_EQ(finished.status, 0) << finished.err;
  EXPECT_THAT(finished.out, AllOf(HasSubstr("fedgsp:table1"), HasSubstr("smoke"), HasSubstr(" min")));
  const auto told = nlohmann::json::parse(muster({"reproduce", "--json"}).out);
  EXPECT_EQ(told["targets"].size(), target_names().size());
  EXPECT_GT(told["targets"][0]["minutes"]["small"], 0);
}

TEST_F(Reproduce, RefusesWhatItDoesNotKnow) {
  expect_error({"reproduce", "fedgsp:tabel1"}, 2, HasSubstr("did you mean 'fedgsp:table1'?"));
  expect_error({"reproduce", "fedgsp:table1", "--scale", "tiny"}, 2, HasSubstr("smoke, small, full"));
  expect_error({"reproduce", "fedgsp:table1", "--write-docs", "x.md"}, 2, HasSubstr("leave out 'fedgsp:table1'"));
}

TEST_F(Reproduce, TellsTheTimeWithoutRunning) {
  const Finished finished =
      muster({"reproduce", "group-fel:fig8", "--scale", "smoke", "--dry-run", "--out", out(), "--quiet"});
  EXPECT_EQ(finished.status, 0) << finished.err;
  EXPECT_THAT(finished.out, AllOf(HasSubstr("group-fel:fig8 at smoke: 4 runs, about ")));
  EXPECT_FALSE(std::filesystem::exists(out()));
}

TEST_F(Reproduce, WritesThePageFromStoredResults) {
  const std::string judgements = file("judgements.toml", "\"group-fel:fig8\" = \"As in the paper.\"\n");
  const std::string page = (scratch_.path() / "results.md").string();
  const Words words{"reproduce", "--write-docs", page, "--judgements", judgements, "--out", out()};
  expect_error({"reproduce", "--write-docs", page, "--judgements", judgements, "--out", out(), "--quiet"}, 1,
               HasSubstr("no results"));
  smoke("group-fel:fig8");
  const std::filesystem::path results = std::filesystem::path(out()) / "results";
  std::filesystem::rename(results / "group-fel-fig8-smoke.json", results / "group-fel-fig8-small.json");
  const Finished finished = muster(words);
  ASSERT_EQ(finished.status, 0) << finished.err;
  EXPECT_THAT(finished.err, HasSubstr("fedgsp:table1: no result"));
  std::ifstream in(page);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  EXPECT_THAT(text, AllOf(HasSubstr("## group-fel:fig8"), HasSubstr("**As in the paper.**"), HasSubstr("ESRCoV")));
}

}  // namespace
}  // namespace muster
