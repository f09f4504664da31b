// SolverTimes: where the time of a client's training goes.
#pragma once

#include "model/executor_times.h"

namespace muster {

// Where a solver's time goes, in seconds.
struct SolverTimes {
  double train_s = 0;     // all of train(), of which
  double samples_s = 0;   // having the client's samples (virtual clients generate them)
  double gather_s = 0;    // batches as floats
  double evaluate_s = 0;  // all of evaluate() and evaluate_client()
  ExecutorTimes executor;
};

}  // namespace muster
