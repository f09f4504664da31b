// TaskLog: who is told what becomes of every task, as it happens: asked, answered, missed, refused. An answer is told
// of before the one who sent it is, so whatever a peer was told was used can be found in the log. What a log keeps, and
// where, is not known here.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "aggregate/aggregator.h"
#include "wire/channel.h"

namespace muster {

// An answer, read and checked. Spans are borrowed for the call.
struct TaskAnswer {
  bool used = false;
  std::string_view reason;  // why not, as the record has it
  std::uint64_t samples = 0;
  std::span<const float> model;
  std::span<const float> payload;
  std::span<const MemberReport> members;  // of a group
  std::span<const Dropped> dropped;
};

// Calls may come from any thread, some while RemoteClients is locked: they must not call it, nor wait for anybody.
class TaskLog {
 public:
  virtual ~TaskLog() = default;

  virtual void came(const std::string& peer, bool edge, std::span<const ClientId> clients) = 0;
  virtual void went(const std::string& peer, std::span<const ClientId> clients) = 0;
  virtual void asked(const v1::Ask& ask) = 0;
  // Exactly one of the two follows, unless the process ends. `reply`: as its sender wrote it.
  virtual void answered(const v1::Ask& ask, const v1::TaskId& reply, const TaskAnswer& answer) = 0;
  virtual void missed(const v1::Ask& ask, std::string_view reason) = 0;
  // A reply that nobody waits for.
  virtual void refused(const std::string& peer, const v1::TaskId& reply, std::string_view reason) = 0;
};

}  // namespace muster
