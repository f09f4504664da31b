// Who is at a cloud: which clients are connected, through whom and since when, who has gone and why, and who was
// dropped from rounds. For pages that show a run as it goes on.
//
//   RosterBoard board;                    // lives longer than the run
//   CloudRunOptions options;
//   options.roster = &board;
//   std::thread page([&] { show(board.view()); });  // at any time, from any thread
//   run_cloud(std::move(options));
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "engine/round_observer.h"
#include "wire/remote_clients.h"

namespace muster {

// A plain value, all of one moment.
struct RosterView {
  struct Client {
    ClientId client;
    std::string name;  // as its certificate or the data have it; "": it has none
    bool here = false;
    std::string peer;  // the process that it is reached through, or was: "edge north", "client graz"; "": none yet
    bool by_edge = false;
    std::chrono::system_clock::time_point since;  // when it came, or went; the epoch: it was never here
    std::string why;                              // it went; "": it is here, or was never
    std::uint32_t drops = 0;                      // rounds in which it was asked and does not count
    std::uint32_t last_drop_round = 0;            // 0: it never was dropped
    std::string last_drop_reason;                 // as the records have it: "straggler", ...
  };
  std::string run;              // "": none has begun
  std::uint32_t roster = 0;     // clients that the run has, those that never came included
  std::uint32_t here = 0;       // of those below
  std::vector<Client> clients;  // by number: everybody who was ever here, or was dropped
};

// Thread-safe.
class RosterBoard final : public RoundObserver {
 public:
  [[nodiscard]] RosterView view() const;

  // By whoever runs the cloud. `clients` is borrowed until close(), which keeps what was there last.
  void open(const RemoteClients& clients, const Roster& roster);
  void close();
  void end(const Models& models, RoundRecord& record) override;

 private:
  struct Drops {
    std::uint32_t count = 0;
    std::uint32_t round = 0;
    std::string reason;
  };
  [[nodiscard]] RosterView look() const;  // with the lock held

  mutable std::mutex mutex_;  // of all below
  const RemoteClients* clients_ = nullptr;
  std::map<std::uint32_t, std::string> names_;  // of those that have one
  std::uint32_t roster_ = 0;
  std::map<std::uint32_t, Drops> drops_;
  RosterView last_;  // once it is closed
};

}  // namespace muster
