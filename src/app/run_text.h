// What the user reads of a run that is over or was interrupted.
#pragma once

#include <string>

#include "record/run_record.h"

namespace muster {

void print_summary(const RunSummary& summary);
// What a reader of JSON would miss, and how to go on after an interruption, on stderr. `again`: the command that
// resumes.
void print_advice(const RunSummary& summary, bool json, const char* again);
// "20 to 30 clients (mean 25.5)".
[[nodiscard]] std::string sizes_text(double smallest, double mean, double largest);

}  // namespace muster
