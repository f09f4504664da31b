#include "clients/dropped.h"

namespace muster {

std::string_view name(DropReason reason) {
  switch (reason) {
    case DropReason::kFault:
      return "dropped";
    case DropReason::kStraggler:
      return "straggler";
    case DropReason::kNoSamples:
      return "no-samples";
    case DropReason::kNonFinite:
      return "non-finite";
    case DropReason::kUnreachable:
      return "unreachable";
    case DropReason::kMalformed:
      return "malformed";
    case DropReason::kNotNeeded:
      return "not-needed";
    case DropReason::kAbandoned:
      return "abandoned";
    case DropReason::kRefused:
      return "refused";
  }
  return "?";
}

}  // namespace muster
