// The catalogues' version: programs may add choices while they run, and whatever was made from the catalogues before
// must then be made again.
#pragma once

#include <cstdint>

namespace muster {

// Grows with every choice that is added, to whichever catalogue. Thread-safe.
[[nodiscard]] std::uint64_t catalogue_version();
// Called by a catalogue once the choice is in it.
void note_added_choice();

}  // namespace muster
