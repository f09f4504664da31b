// A channel to nobody that notes what is sent, for tests of one side on one thread.
#pragma once

#include <algorithm>
#include <vector>

#include "wire/channel.h"

namespace muster {

class NotedChannel final : public Channel {
 public:
  void send(Outgoing outgoing) override { sent.push_back(std::move(outgoing)); }
  void close() override { closed = true; }

  [[nodiscard]] std::size_t replies() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(sent, [](const Outgoing& one) { return one.frame.has_reply(); }));
  }

  std::vector<Outgoing> sent;
  bool closed = false;
};

}  // namespace muster
