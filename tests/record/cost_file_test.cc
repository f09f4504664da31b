#include "record/cost_file.h"

#include <fstream>

#include "scratch_folder.h"

namespace muster {
namespace {

using testing::HasSubstr;

MeasuredCosts some_costs() {
  return {.operations = {{"secure-sum", 25'000, {1.25e-6, 3.1e-5, 1e-4, 0.999}},
                         {"flame", 25'000, {2e-6, -1e-7, 0.1 + 0.2, 1}},
                         {"secure-sum", 272'000, {1.3e-6, 3e-4, 1e-3, 0.97}}},
          .epoch = {0, 0.0123, 4e-5, 0.9999}};
}

std::string why_refused(const std::string& text) {
  const auto costs = parse_cost_file(text);
  return costs ? std::string() : costs.error().message;
}

std::string changed(const std::string& from, const std::string& to) {
  std::string text = to_text(some_costs());
  text.replace(text.find(from), from.size(), to);
  return text;
}

TEST(CostFile, IsReadAsItWasWritten) {
  EXPECT_EQ(parse_cost_file(to_text(some_costs())).value(), some_costs());
  const ScratchFolder scratch;
  std::ofstream(scratch / "costs.json") << to_text(some_costs());
  EXPECT_EQ(read_cost_file(scratch / "costs.json").value(), some_costs());
}

TEST(CostFile, RefusesAnythingElse) {
  const std::string text = to_text(some_costs());
  for (std::size_t end = 0; end + 2 < text.size(); ++end) EXPECT_NE(why_refused(text.substr(0, end)), "") << end;
  EXPECT_THAT(why_refused("{\"run\":\"demo-s1\"}"), HasSubstr("no file of costs"));
  EXPECT_THAT(why_refused("[]"), HasSubstr("no file of costs"));
  EXPECT_THAT(why_refused(changed("muster-costs-1", "muster-costs-2")), HasSubstr("muster-costs-1"));
  EXPECT_THAT(why_refused(changed("272000", "25000")), HasSubstr("ascending"));
  EXPECT_THAT(why_refused(changed("272000", "0")), HasSubstr("entry 3: 0 parameters"));
  EXPECT_THAT(why_refused(changed("272000", "-1")), HasSubstr("entry 3"));
  EXPECT_NE(why_refused(changed("0.0123", "1e999")), "");
  EXPECT_THAT(why_refused(changed("\"linear\":0.0123", "\"slope\":0.0123")),
              HasSubstr("\"epoch\": no number \"linear\""));
  EXPECT_THAT(why_refused(changed("\"linear\":0.0123", "\"linear\":\"fast\"")), HasSubstr("\"linear\""));
  EXPECT_THAT(why_refused("{\"format\":\"muster-costs-1\",\"operations\":[]}"), HasSubstr("\"operations\""));
}

TEST(CostFile, ErrorsNameTheFile) {
  const ScratchFolder scratch;
  EXPECT_THAT(read_cost_file(scratch / "none.json").error().message, HasSubstr("none.json"));
  std::ofstream(scratch / "torn.json") << to_text(some_costs()).substr(0, 100);
  EXPECT_THAT(read_cost_file(scratch / "torn.json").error().message, HasSubstr("torn.json"));
}

}  // namespace
}  // namespace muster
