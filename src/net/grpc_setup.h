// What gRPC is told once, before its first use in a process: TLS 1.3 only, and its own log becomes ours; protobuf's is
// silent.
#pragma once

#include "wire/wire_note.h"

namespace muster {

// Called by whoever uses gRPC first, and any number of times. `say` hears of handshakes that failed, which nobody else
// learns of; the latest one that is not empty is used.
void set_up_grpc(const SayNote& say);

}  // namespace muster
