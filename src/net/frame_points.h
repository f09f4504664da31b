// The fail points of frames, by their kind.
#pragma once

#include <muster/v1/federation.pb.h>

#include <optional>
#include <string>

#include "base/fail_point.h"

namespace muster {

// "hello", "ask", ...; "" of a frame that is empty or of no known kind.
[[nodiscard]] inline std::string frame_kind(const v1::Frame& frame) {
  const auto* const field = v1::Frame::descriptor()->FindFieldByNumber(frame.body_case());
  return field ? std::string(field->name()) : std::string();
}

inline void frame_point(FailPoint point, const v1::Frame& frame) {
  if (fail_points_armed()) [[unlikely]]
    fail_point(point, std::string_view(frame_kind(frame)));
}

// Around what is done with a frame that has come.
class FramePoints {
 public:
  explicit FramePoints(const v1::Frame& frame) {
    if (!fail_points_armed()) return;
    kind_ = frame_kind(frame);
    fail_point(FailPoint::kBeforeReceive, std::string_view(*kind_));
  }
  ~FramePoints() {
    if (kind_) fail_point(FailPoint::kAfterReceive, std::string_view(*kind_));
  }
  FramePoints(const FramePoints&) = delete;
  FramePoints& operator=(const FramePoints&) = delete;

 private:
  std::optional<std::string> kind_;
};

}  // namespace muster
