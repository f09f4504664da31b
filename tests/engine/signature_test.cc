// The net under every change: the signature of each composition and of each built-in recipe on generated data, stored
// per instruction set in signatures.txt. Of the recipes, whose networks are larger, only every third is computed
// without this machine's best instructions; with MUSTER_SIGNATURES=all they all are. A commit that changes a signature
// says so and why; to store what is computed now, run
//   MUSTER_WRITE_SIGNATURES=FILE build/release/tests/engine/engine_test --gtest_filter='*IsAsStored*'
// and put FILE, sorted, in place of signatures.txt.
#include <cstdlib>
#include <fstream>

#include "stored_signatures.h"

namespace muster {
namespace {

std::vector<Stored> computed_here() {
  const char* const which = std::getenv("MUSTER_SIGNATURES");
  const bool all = std::getenv("MUSTER_WRITE_SIGNATURES") || (which && std::string_view(which) == "all");
  std::vector<Stored> computed;
  for (const Isa isa : {Isa::kBaseline, Isa::kAvx2, Isa::kAvx512}) {
    std::size_t recipe = 0;
    for (Stored& stored : all_stored(isa)) {
      if (stored.name.starts_with("recipe-") && isa != current_isa() && !all && recipe++ % 3 != 0) continue;
      computed.push_back(std::move(stored));
    }
  }
  return computed;
}

class Signature : public SimulationTest, public testing::WithParamInterface<Stored> {};

INSTANTIATE_TEST_SUITE_P(, Signature, testing::ValuesIn(computed_here()), [](const auto& param_info) {
  return test_name(fmt::format("{}-{}", param_info.param.name, name(param_info.param.isa)));
});

TEST_P(Signature, IsAsStored) {
  const Stored& wanted = GetParam();
  const auto available = available_isas();
  if (std::ranges::find(available, wanted.isa) == available.end()) {
    GTEST_SKIP() << "this processor has no " << name(wanted.isa);
  }
  const Isa before = current_isa();
  use_isa(wanted.isa);
  const std::string signature = run(wanted.recipe(), 2).signature;
  use_isa(before);
  const std::string key = fmt::format("{} {}", wanted.name, name(wanted.isa));
  if (const char* const file = std::getenv("MUSTER_WRITE_SIGNATURES")) {
    std::ofstream(file, std::ios::app) << key << ' ' << signature << '\n';
    return;
  }
  const auto found = stored_signatures().find(key);
  ASSERT_NE(found, stored_signatures().end()) << "nothing is stored; computed: " << key << ' ' << signature;
  EXPECT_EQ(signature, found->second) << key;
}

}  // namespace
}  // namespace muster
