#include "engine/whole_run.h"

#include "record/run_lock.h"

namespace muster {
namespace {

std::optional<std::filesystem::path> outcome(const RunSummary& summary) {
  if (summary.stopped == StopReason::kInterrupted) return std::nullopt;
  return summary.dir;
}

std::string free_name(const std::string& name, const std::filesystem::path& out,
                      const std::function<void(const std::string&)>& say) {
  std::string free = name;
  std::error_code ignored;
  for (int i = 2; std::filesystem::exists(std::filesystem::symlink_status(out / free, ignored)); ++i) {
    free = fmt::format("{}-{}", name, i);
  }
  if (free != name) {
    say(fmt::format("{}: not a run that can be used; it is left alone, and {} is used", (out / name).string(), free));
  }
  return free;
}

}  // namespace

Result<std::optional<std::filesystem::path>> do_whole_run(const WholeRun& run, SimulationOptions options,
                                                          const std::function<void(const std::string&)>& say) {
  for (const std::string& name : run.resumable) {
    const std::filesystem::path folder = options.out / name;
    if (const auto lock = RunLock::take(folder); !lock) return lock.error();
    const Result<RunSummary> summary = resume(folder.string(), {}, options);
    if (summary) return outcome(*summary);
    say(fmt::format("{}; {} is left alone", summary.error().message, folder.string()));
  }
  options.folder = free_name(run.name, options.out, say);
  MUSTER_ASSIGN(const RunSummary summary, simulate(run.recipe, options));
  return outcome(summary);
}

}  // namespace muster
