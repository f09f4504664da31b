// A sweep: many runs side by side, one core each, and what is spare at the end for those that are left; in this
// process, or on all ranks of a job. Every run is what simulate() makes of its recipe alone. Data are read once (by
// each rank) for runs that have the same; finished runs are not run again, interrupted ones go on.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/run_curve.h"
#include "recipe/recipe.h"
#include "record/progress.h"

namespace muster {

class Ranks;

struct SweepRun {
  std::string label;  // for errors, and the first part of a new folder's name
  Recipe recipe;      // with its seed
};

struct SweepOptions {
  std::uint32_t threads = 0;           // all runs together, on each rank; 0 = all cores
  std::filesystem::path out = "runs";  // where runs are looked for, and where their folders are made, by all ranks
  bool quiet = false;                  // no progress on stderr
  ProgressSink progress = stderr_progress();
  // When it becomes true every run finishes its round and saves a checkpoint, and no other begins.
  const std::atomic<bool>* interrupt = nullptr;
  std::function<void(const std::string&)> say;  // notes for people; calls come one at a time
  // Called for all runs that share data, with their recipes as the data have settled them, before any of these begins.
  // An error ends the sweep.
  std::function<Status(std::span<const std::size_t> runs, std::span<const Recipe> settled)> check;
  // The job that this is rank 0 of, whose other ranks are in serve_runs() (engine/rank_run.h); null, or of one rank:
  // this process does all by itself. Borrowed.
  Ranks* ranks = nullptr;
};

struct SweepResult {
  bool interrupted = false;                   // then some are none
  std::vector<std::optional<RunCurve>> runs;  // as given
  std::size_t ran = 0;                        // that this sweep ran or went on with
};

// Runs that differ in data are begun in the order given, those that share data longest first, each on the rank of which
// the smallest share is busy. A run that diverges is a result. A run that fails, on whichever rank, ends the sweep once
// the others have saved; the error names its label and seed. Folders that hold something else than a run of their
// recipe are told of and left alone. Preconditions: labels are not empty.
[[nodiscard]] Result<SweepResult> run_sweep(std::span<const SweepRun> runs, const SweepOptions& options);

}  // namespace muster
