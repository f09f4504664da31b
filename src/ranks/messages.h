// What ranks say to each other, one word at the start of every parcel, and how the values of `train` travel. Encoding
// and decoding stand side by side; what is read is checked for shape here and for meaning by whoever asked.
#pragma once

#include "profile/profile.h"
#include "base/parcel.h"
#include "train/federation.h"

namespace muster {

enum class Message : std::uint8_t {
  // From rank 0, in this order for each run: kBegin, kRecipe, then calls, then kOver; kQuit once at the end.
  kBegin,     // a run begins: the recipe as given, of which the data are made
  kRecipe,    // the recipe as the data have settled it
  kCall,      // units of work follow: what they have in common, and models that are given to all
  kUnit,      // do this
  kEndCalls,  // all calls are over; models that were sent may go
  kOver,      // the run is over
  kSweep,     // whole runs follow, then kOver
  kSimulate,  // do a whole run
  kForget,    // data that no more runs will need
  kQuit,      // end with this exit status
  // From the first rank of a machine to the others on it, for each run: where the data are.
  kData,
  // To rank 0.
  kReady,   // for units, or whole runs
  kAnswer,  // to a unit
  kRounds,  // of a whole run, made since the last word of it
  kNote,    // for people
  kEnded,   // a whole run, and how
  kDone,    // the last word, after kOver
  kFailed,  // why this rank cannot do what it was asked to
};
inline constexpr std::uint64_t kMessages = static_cast<std::uint64_t>(Message::kFailed) + 1;

// What a call asks for.
enum class CallKind : std::uint8_t { kTrain, kProfile, kEvaluate };
inline constexpr std::uint64_t kCallKinds = 3;

void put_dropped(const Dropped& dropped, ParcelWriter& out);
[[nodiscard]] Dropped take_dropped(ParcelReader& in);

// `importance` does not travel: rank 0 sets it. The vectors are moved. `most`: values that a model may have.
void put_update(GroupUpdate update, ParcelWriter& out);
[[nodiscard]] GroupUpdate take_update(ParcelReader& in, std::size_t most);

void put_profile(ProfileReply reply, ParcelWriter& out);
[[nodiscard]] ProfileReply take_profile(ParcelReader& in, std::size_t most);

void put_evaluation(const EvaluateReply& reply, ParcelWriter& out);
[[nodiscard]] EvaluateReply take_evaluation(ParcelReader& in);

void put_details(const Details& details, ParcelWriter& out);
[[nodiscard]] Details take_details(ParcelReader& in);

void put_error(const Error& error, ParcelWriter& out);
[[nodiscard]] Error take_error(ParcelReader& in);
[[nodiscard]] Parcel failed_parcel(const Error& error);

}  // namespace muster
