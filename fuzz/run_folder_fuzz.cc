// Whole run folders: small runs of several compositions are made once and interrupted; every input spoils one of them
// (tests/engine/hostile_folder.h) and resumes it. The first byte chooses the run. A resume may fail, with one line and
// the folder as it was; it may not crash, throw, run out of memory or take for ever.
#include <unistd.h>

#include <atomic>
#include <cstdlib>

#include "compositions.h"
#include "hostile_folder.h"

namespace {

using namespace muster;

std::filesystem::path scratch_folder() {
  static const std::filesystem::path path = [] {
    std::string pattern = (std::filesystem::temp_directory_path() / "muster-fuzz-XXXXXX").string();
    MUSTER_CHECK(::mkdtemp(pattern.data()) != nullptr, "cannot create {}", pattern);
    static const std::string made = pattern;
    std::atexit([] {
      std::error_code ignored;
      std::filesystem::remove_all(made, ignored);
    });
    return std::filesystem::path(made);
  }();
  return path;
}

FolderContent interrupted_run(const NamedSettings& composition) {
  Recipe recipe;
  recipe.name = "small";
  for (const auto* const settings : {&kTiny, &composition.settings}) {
    for (const std::string& setting : *settings) {
      const Status status = apply_setting(recipe, setting);
      MUSTER_CHECK(status.ok(), "{}: {}", composition.name, status.error().message);
    }
  }
  std::atomic<bool> interrupt{false};
  SimulationOptions options{.threads = 1, .out = scratch_folder() / "runs", .quiet = true, .interrupt = &interrupt};
  options.on_round = [&](std::uint32_t round) { interrupt = round == 2; };
  const auto summary = simulate(recipe, options);
  MUSTER_CHECK(summary.ok(), "{}: {}", composition.name, summary.error().message);
  return read_folder(summary->dir);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::vector<FolderContent> runs = [] {
    std::vector<FolderContent> made;
    for (const NamedSettings& composition : kCompositions) made.push_back(interrupted_run(composition));
    return made;
  }();
  if (size < 2) return 0;
  std::vector<FolderContent> chosen{runs[data[0] % runs.size()]};
  for (const std::size_t next : {7, 13, 19}) chosen.push_back(runs[(data[0] + next) % runs.size()]);
  const HostileFolder hostile(std::move(chosen), {data + 2, size - 2});
  std::vector<std::string> settings;
  if (data[1] % 4 == 0) settings.push_back("rounds=5");
  const ResumedFolder resumed = resume_folder(scratch_folder() / "spoiled", hostile.content(), settings);
  MUSTER_CHECK(resumed.wrong.empty(), "{}: {} ({})", hostile.done(), resumed.wrong, resumed.error);
  return 0;
}
