#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/check.h"
#include "report/describe.h"
#include "report/html_page.h"

namespace {

// A folder for this process.
std::filesystem::path scratch() {
  static const std::filesystem::path folder = [] {
    std::string pattern = (std::filesystem::temp_directory_path() / "muster-fuzz-XXXXXX").string();
    MUSTER_CHECK(::mkdtemp(pattern.data()), "cannot make {}", pattern);
    return std::filesystem::path(pattern);
  }();
  return folder;
}

}  // namespace

// The files of a run's folder, apart by bytes 0: whatever they hold, it is described, and the page has no more markup
// than its own.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  for (const char* file : {"rounds.jsonl", "groups.jsonl", "clients.csv", "summary.json", "preparation.json",
                           "ledger.jsonl", "recipe.toml"}) {
    const std::size_t cut = std::min(rest.find('\0'), rest.size());
    std::ofstream(scratch() / file, std::ios::binary) << rest.substr(0, cut);
    rest.remove_prefix(std::min(cut + 1, rest.size()));
  }
  const auto described = describe_run(scratch());
  MUSTER_CHECK(described.ok(), "a run's folder is refused: {}", described.error().message);
  MUSTER_CHECK(json_for_html(*described).find('<') == std::string::npos, "markup among the data");
  return 0;
}
