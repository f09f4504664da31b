// What a run leaves behind when it stops: its summary, the table of its clients, the weights of its models.
#pragma once

#include "engine/round_loop.h"
#include "record/run_folder.h"

namespace muster {

// `data`: the data in words; `oracle` may be null.
[[nodiscard]] RunSummary summarise(const Recipe& recipe, const RoundLoop& loop, const Federation& federation,
                                   const Oracle* oracle, const RunFolder& folder, StopReason reason,
                                   const std::string& data);

// `preparation`: as to_json() has it; it travels with the weights. Enters the peak of memory into the summary, which is
// written when all the rest is there.
[[nodiscard]] Status write_results(RunSummary& summary, const RoundLoop& loop, const Federation& federation,
                                   const std::string& preparation, const RunFolder& folder);

}  // namespace muster
