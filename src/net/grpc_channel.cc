#include "net/grpc_channel.h"

#include <utility>

#include "wire/chunks.h"

namespace muster {

void GrpcChannel::send(Outgoing outgoing) {
  const std::lock_guard lock(mutex_);
  if (gone_ || closing_) return;
  queue_.push_back(std::move(outgoing));
  if (!writing_) write_next();
}

void GrpcChannel::close() {
  const std::lock_guard lock(mutex_);
  if (gone_ || std::exchange(closing_, true)) return;
  if (!writing_) write_next();
}

void GrpcChannel::attach(StreamEnd& end) {
  const std::lock_guard lock(mutex_);
  end_ = &end;
  if (!writing_) write_next();
}

void GrpcChannel::wrote() {
  const std::lock_guard lock(mutex_);
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
  end_->start_write(frame_);
}

}  // namespace muster
