#include "base/names.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace muster {
namespace {

const std::vector<std::string> kRecipes = {"fedavg", "fedprox", "scaffold", "feddyn", "iid"};

TEST(NearestName, FindsTheTypo) {
  EXPECT_EQ(nearest_name("fedavgg", kRecipes), "fedavg");
  EXPECT_EQ(nearest_name("fedvag", kRecipes), "fedavg");
  EXPECT_EQ(nearest_name("scafold", kRecipes), "scaffold");
  EXPECT_EQ(nearest_name("id", kRecipes), "iid");
  EXPECT_EQ(nearest_name("fedprox", kRecipes), "fedprox");
}

TEST(NearestName, AllowsMoreEditsInLongNames) {
  const std::vector<std::string> keys = {"server-learning-rate"};
  EXPECT_EQ(nearest_name("server-learnig-rat", keys), "server-learning-rate");
  EXPECT_EQ(nearest_name("serverlearnrate", keys), "server-learning-rate");
}

TEST(NearestName, StaysSilentWhenNothingIsClose) {
  EXPECT_EQ(nearest_name("resnet", kRecipes), "");
  EXPECT_EQ(nearest_name("", kRecipes), "");
  EXPECT_EQ(nearest_name("fedavg", {}), "");
  EXPECT_EQ(nearest_name("mu", std::vector<std::string>{"lr", "k"}), "");
  // A third of nine letters may be wrong, four may not.
  EXPECT_EQ(nearest_name("abcdefxyz", std::vector<std::string>{"abcdefghi"}), "abcdefghi");
  EXPECT_EQ(nearest_name("abcdewxyz", std::vector<std::string>{"abcdefghi"}), "");
}

TEST(NearestName, TakesAnotherCaseForATypo) {
  const std::vector<std::string> columns = {"a", "b", "y", "Site", "site id"};
  EXPECT_EQ(nearest_name("Y", columns), "y");
  EXPECT_EQ(nearest_name("SITE", columns), "Site");
  EXPECT_EQ(nearest_name("SITE ID", columns), "site id");
  EXPECT_EQ(nearest_name("Name", std::vector<std::string>{"NAME", "Names", "name"}), "name");
}

TEST(NearestName, TakesNoLetterForAnother) {
  EXPECT_EQ(nearest_name("c", std::vector<std::string>{"a", "b", "cd"}), "");
}

TEST(NearestName, TakesTheFirstOfEquals) {
  EXPECT_EQ(nearest_name("cat", std::vector<std::string>{"bat", "hat"}), "bat");
}

TEST(Counted, HasOneOfOne) {
  EXPECT_EQ(counted(1, "client"), "1 client");
  EXPECT_EQ(counted(0, "client"), "0 clients");
  EXPECT_EQ(counted(12, "row"), "12 rows");
}

TEST(UnknownName, NamesTheValueTheHintAndWhatIsAccepted) {
  EXPECT_EQ(unknown_name("recipe", "fedavgg", std::vector<std::string>{"fedavg", "scaffold"}),
            "unknown recipe 'fedavgg' (did you mean 'fedavg'?); accepted: fedavg, scaffold");
  EXPECT_EQ(unknown_name("recipe", "zzzzzz", std::vector<std::string>{"fedavg", "scaffold"}),
            "unknown recipe 'zzzzzz'; accepted: fedavg, scaffold");
}

}  // namespace
}  // namespace muster
