// What a cloud or an edge tells those that watch it, on a port of its machine's loopback: GET /metrics in the text
// format of Prometheus, GET /healthz. Figures come from the round loop, as a RoundObserver, and from RemoteClients.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "engine/simulation.h"
#include "net/http_server.h"
#include "wire/remote_clients.h"

namespace muster {

struct StatusPageOptions {
  std::optional<std::uint32_t> port;  // not set: there is no page; 0: any
  std::function<void(const std::string& address)> listening = {};
};

// Thread-safe, except that the observer's functions are the round loop's.
class StatusPage final : public RoundObserver {
 public:
  explicit StatusPage(std::string role) : role_(std::move(role)) {}
  ~StatusPage() override { stop(); }

  // From now on it can be asked, if the options say so.
  [[nodiscard]] Status start(const StatusPageOptions& options);
  void stop() { server_.reset(); }

  // Whom it counts; borrowed until stop().
  void watch(const RemoteClients& clients);
  // Why the process is not well; "": it is.
  void set_health(std::string reason);
  // Asked whenever health is, from now until stop(), unless set_health() has a reason of its own.
  void set_health_check(std::function<std::string()> check);
  // Of the cloud. `times` is the round loop's, borrowed.
  void begin_run(std::uint32_t rounds, std::uint32_t roster, const RunTimes* times);
  // Seconds of a phase that the round loop does not time itself.
  void spent(const std::string& phase, double seconds);

  [[nodiscard]] std::string metrics() const;
  [[nodiscard]] std::string health() const;  // "": well

  void prepare(RoundTasks& tasks) override;
  void end(const Models& models, RoundRecord& record) override;

 private:
  [[nodiscard]] HttpAnswer answer(const std::string& path) const;

  struct RunState {
    std::uint32_t rounds = 0;
    std::uint32_t roster = 0;
    std::uint32_t round = 0;
    std::uint32_t rounds_done = 0;
    std::uint32_t participants = 0;
    std::uint32_t groups = 0;
    std::map<std::string_view, std::uint64_t> drops;  // by reason
  };

  const std::string role_;
  mutable std::mutex mutex_;  // of all below but the server
  const RemoteClients* clients_ = nullptr;
  std::function<std::string()> check_;
  std::string health_ = "setting up";
  const RunTimes* times_ = nullptr;  // read by the round loop's thread only
  std::optional<RunState> run_;      // of the cloud
  std::map<std::string, double> seconds_;
  std::unique_ptr<HttpServer> server_;
};

}  // namespace muster
