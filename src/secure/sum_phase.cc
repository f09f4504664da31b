#include "secure/sum_phase.h"

namespace muster {

std::string_view name(SumPhase phase) {
  switch (phase) {
    case SumPhase::kKeys:
      return "keys";
    case SumPhase::kShares:
      return "shares";
    case SumPhase::kInput:
      return "input";
    case SumPhase::kAgreement:
      return "agreement";
    case SumPhase::kOpening:
      return "opening";
    case SumPhase::kDone:
      return "done";
  }
  return "?";
}

}  // namespace muster
