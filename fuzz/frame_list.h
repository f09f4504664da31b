// Inputs that are frames as peers send them: a byte that says to whom, then each frame after its length of two bytes.
// libFuzzer changes them through LLVMFuzzerCustomMutator, as messages; now and then as bytes.
#pragma once

#include <google/protobuf/stubs/logging.h>
#include <muster/v1/federation.pb.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "base/hash.h"
#include "message_mutator.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

namespace muster {

inline const bool protobuf_is_silent = [] {
  google::protobuf::SetLogHandler(nullptr);  // as in deployments
  return true;
}();

// The frames, as bytes, in order; the last one may be cut short.
template <typename Take>
void each_frame(std::string_view input, const Take& take) {
  while (input.size() >= 2) {
    const std::size_t size = static_cast<std::uint8_t>(input[0]) | static_cast<std::uint8_t>(input[1]) << 8;
    input.remove_prefix(2);
    const std::string_view frame = input.substr(0, size);
    input.remove_prefix(frame.size());
    take(frame);
  }
}

// Checksums that were right are right again, and so are most others: few peers fail there.
inline void seal(v1::Frame& frame, MessageMutator& mutator) {
  if (!frame.has_chunk() || mutator.below(16) == 0) return;
  frame.mutable_chunk()->set_checksum(hash_bytes(frame.chunk().values().data(), frame.chunk().values().size()));
}

inline void mutate_frames(std::vector<v1::Frame>& frames, MessageMutator& mutator) {
  const auto any = [&] { return mutator.below(static_cast<std::uint32_t>(frames.size())); };
  if (frames.empty()) frames.emplace_back();
  const auto at = [&](std::uint32_t place) { return frames.begin() + static_cast<std::ptrdiff_t>(place); };
  switch (mutator.below(10)) {
    case 0: {
      v1::Frame another;
      mutator.mutate(another);
      seal(another, mutator);
      frames.insert(at(any()), std::move(another));
      return;
    }
    case 1: {
      v1::Frame again = frames[any()];
      frames.insert(at(any()), std::move(again));
      return;
    }
    case 2:
      frames.erase(at(any()));
      return;
    case 3:
      std::swap(frames[any()], frames[any()]);
      return;
    default:
      for (std::uint32_t times = 1 + mutator.below(3); times > 0; --times) {
        v1::Frame& one = frames[any()];
        mutator.mutate(one);
        seal(one, mutator);
      }
  }
}

inline std::size_t mutate_frame_list(std::uint8_t* data, std::size_t size, std::size_t most, std::uint32_t seed) {
  MessageMutator mutator(seed);
  if (size == 0 || mutator.below(16) == 0) return LLVMFuzzerMutate(data, size, most);
  if (mutator.below(16) == 0) data[0] = static_cast<std::uint8_t>(mutator.below(256));
  std::vector<v1::Frame> frames;
  each_frame({reinterpret_cast<const char*>(data) + 1, size - 1}, [&](std::string_view bytes) {
    v1::Frame frame;
    if (frame.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) frames.push_back(std::move(frame));
  });
  mutate_frames(frames, mutator);
  std::size_t used = 1;
  for (const v1::Frame& frame : frames) {
    const std::size_t bytes = frame.ByteSizeLong();
    if (bytes > 0xffff || used + 2 + bytes > most) break;
    data[used] = static_cast<std::uint8_t>(bytes & 0xff);
    data[used + 1] = static_cast<std::uint8_t>(bytes >> 8);
    frame.SerializeToArray(data + used + 2, static_cast<int>(bytes));
    used += 2 + bytes;
  }
  return used;
}

}  // namespace muster
