#include "net/grpc_channel.h"

#include <algorithm>
#include <utility>

#include "net/frame_points.h"
#include "wire/chunks.h"

namespace muster {

void GrpcChannel::send(Outgoing outgoing) {
  const std::lock_guard lock(mutex_);
  if (gone_ || closing_) return;
  if (queue_.size() >= kMostWaiting) {
    queue_.clear();
    offset_ = 0;
    closing_ = true;
    if (end_) end_->abort();
    return;
  }
  queue_.push_back(std::move(outgoing));
  if (!writing_) write_next();
}

void GrpcChannel::close() {
  const std::lock_guard lock(mutex_);
  if (gone_ || std::exchange(closing_, true)) return;
  if (!writing_) write_next();
}

void GrpcChannel::pause(std::chrono::milliseconds how_long) {
  const std::lock_guard lock(mutex_);
  pause_ = std::max(pause_, how_long);
}

std::chrono::milliseconds GrpcChannel::take_pause() {
  const std::lock_guard lock(mutex_);
  return std::exchange(pause_, std::chrono::milliseconds(0));
}

void GrpcChannel::attach(StreamEnd& end) {
  const std::lock_guard lock(mutex_);
  end_ = &end;
  if (!writing_) write_next();
}

void GrpcChannel::wrote() {
  const std::lock_guard lock(mutex_);
  frame_point(FailPoint::kAfterSend, frame_);
  frame_ = v1::Frame();  // a connection that has nothing to send keeps no chunk of a model
  writing_ = false;
  write_next();
}

void GrpcChannel::broke() {
  const std::lock_guard lock(mutex_);
  queue_.clear();
  closing_ = true;
  writing_ = false;
  write_next();
}

void GrpcChannel::detach() {
  const std::lock_guard lock(mutex_);
  gone_ = true;
  end_ = nullptr;
  queue_.clear();
}

// With the lock held.
void GrpcChannel::write_next() {
  if (!end_) return;
  if (queue_.empty()) {
    if (closing_) {
      writing_ = true;  // nothing more is written
      end_->start_close();
    }
    return;
  }
  Outgoing& first = queue_.front();
  bool whole = true;
  if (first.vector) {
    frame_ = chunk_of(*first.vector, offset_);
    offset_ += frame_.chunk().values().size() / sizeof(float);
    whole = offset_ >= first.vector->values.size();
  } else {
    frame_ = std::move(first.frame);
  }
  if (whole) {
    queue_.pop_front();
    offset_ = 0;
  }
  writing_ = true;
  frame_point(FailPoint::kBeforeSend, frame_);
  end_->start_write(frame_);
}

}  // namespace muster
