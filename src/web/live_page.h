// LivePage: the page that shows runs as they go on, served from this process: what `muster ui` is, and what --ui starts
// beside a run. It only ever reads, at low priority, and keeps nothing that a run waits for.
//
//   /  /run/ID  /run/ID/clients  /run/ID/client/N  /run/ID/group/N  /run/ID/roster  /compare     the page itself
//   /assets/NAME                          its scripts and styles
//   /api/runs  /api/run/ID[/...]          what it shows, as JSON
//   /api/compare?runs=A/B                 several runs side by side
//   /api/events[?run=ID]                  server-sent events: which runs have changed
//   /api/sign-in                          the token for a cookie
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "base/result.h"
#include "web/roster.h"

namespace muster {

struct LivePageOptions {
  std::filesystem::path out = "runs";  // whose runs are shown
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;            // 0: any
  std::uint16_t preferred_port = 0;  // tried first where `port` is 0; 0: none
  std::string token = {};            // needed unless the address is a loopback one
  std::uint32_t streams = 16;        // of events, at the same time; a page without one asks now and then instead
  int niceness = 10;
  RosterSource roster = {};
};

inline constexpr std::uint16_t kUsualPort = 7450;

class LivePage {
 public:
  // A usage error if the address can be reached from elsewhere and there is no token.
  [[nodiscard]] static Result<std::unique_ptr<LivePage>> start(LivePageOptions options);
  // Ends all streams, within a second or so.
  ~LivePage();

  [[nodiscard]] std::uint16_t port() const;
  // "http://127.0.0.1:7450/"
  [[nodiscard]] std::string url() const;

 private:
  struct State;
  explicit LivePage(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace muster
