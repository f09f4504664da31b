// Fail points: named places at which a test ends or stops this process, to show that nothing depends on where it dies.
// They are always compiled in, so that what is tested is what is shipped; as long as nobody has armed them, one costs
// the read of a flag beside a call of the kernel. They are armed by the environment:
//   MUSTER_FAIL_AT=POINT@SUBJECT:COUNT[:ACTION][,...]  the COUNT-th time that the point is reached with this subject
//   the
//                                                      process kills itself (ACTION kill, the default) or stops (stop)
//   MUSTER_FAIL_TRACE=FILE                             appends a line POINT@SUBJECT each time that a point is reached
// A subject is a file's name without its digits, or the kind of a frame.
#pragma once

#include <atomic>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace muster {

enum class FailPoint {
  kBeforeWrite,  // of files that are written whole, to a temporary one that is renamed
  kAfterWrite,
  kBeforeSync,  // of any file
  kAfterSync,
  kBeforeRename,
  kAfterRename,
  kBeforeAppend,  // of files that grow by lines
  kHalfAppend,    // the first half of what is appended is written
  kAfterAppend,
  kBeforeSend,  // of a frame: it is handed to the transport
  kAfterSend,   // the transport has taken it
  kBeforeReceive,
  kAfterReceive,  // what it asks for has been done, or is on its way
  kBeforeCommit,  // of the store of runs: a transaction has written all that it will
  kAfterCommit,
};

// As the environment has them, in the order of FailPoint.
[[nodiscard]] std::vector<std::string> fail_point_names();

// What the environment says. Call it before there are threads. Fails, naming what is accepted, if that makes no sense.
[[nodiscard]] Status arm_fail_points(const char* fail_at, const char* trace);

namespace fail_points {
inline constinit std::atomic<bool> armed{false};
void reach(FailPoint point, std::string_view subject);
void reach(FailPoint point, const std::filesystem::path& file);
}  // namespace fail_points

[[nodiscard]] inline bool fail_points_armed() {
  return fail_points::armed.load(std::memory_order_relaxed);
}

// `subject`: a kind of frame, or a file.
template <typename Subject>
inline void fail_point(FailPoint point, const Subject& subject) {
  if (fail_points_armed()) [[unlikely]]
    fail_points::reach(point, subject);
}

}  // namespace muster
