// An edge in the process of a test, with the code of its program: joined to a cloud by a line in memory, and dialled by
// such lines.
#pragma once

#include <memory>

#include "deploy/edge_run.h"
#include "wire/memory_channel.h"

namespace muster {

struct EdgeInMemory {
  explicit EdgeInMemory(RemoteClients& to, MemoryLine::Tap heard = {}, MemoryLine::Mangle between = {})
      : cloud(to),
        tap(std::move(heard)),
        mangle(std::move(between)),
        clients(edge_admission(),
                WireEvents{.presence = [this](const auto& came, const auto& went) { up->presence(came, went); }}),
        up(std::make_unique<Answerer>(edge_answers(clients, {}, {}))) {
    connect();
  }
  void connect() {
    line.reset();
    line = std::make_unique<MemoryLine>(
        [this](std::shared_ptr<Channel> channel) { return up->attach(std::move(channel)); },
        [this](std::shared_ptr<Channel> channel) {
          return cloud.attach(std::move(channel), "edge", true, [](const v1::Client&) { return true; });
        },
        tap, mangle);
  }
  ~EdgeInMemory() {
    clients.finish("");
    line.reset();
    up.reset();
  }
  RemoteClients& cloud;
  MemoryLine::Tap tap;
  MemoryLine::Mangle mangle;
  RemoteClients clients;
  std::unique_ptr<Answerer> up;
  std::unique_ptr<MemoryLine> line;
};

}  // namespace muster
