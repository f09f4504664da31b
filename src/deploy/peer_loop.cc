#include "deploy/peer_loop.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <random>
#include <thread>

#include "deploy/silence.h"
#include "net/dialer.h"

namespace muster {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kFirstPauseS = 0.1;
constexpr double kLongestPauseS = 10;
constexpr auto kGlance = std::chrono::milliseconds(200);
constexpr auto kLongestDial = std::chrono::seconds(30);  // until gRPC says that nobody is there

// Half of the pause to all of it, so that many that lost one peer do not come back together.
double with_jitter(double pause_s) {
  thread_local std::mt19937 generator{std::random_device{}()};
  return pause_s * std::uniform_real_distribution<double>(0.5, 1.0)(generator);
}

bool interrupted(const PeerLoopOptions& options) {
  return options.interrupt && *options.interrupt;
}

}  // namespace

Result<std::string> stay_connected(Answerer& answerer, const PeerLoopOptions& options) {
  Silence silence(Clock::now());
  std::uint32_t attempt = 0;
  for (std::size_t next = 0;; ++next) {
    const std::string& address = options.addresses[next % options.addresses.size()];
    dial(address, options.credentials,
         [&](std::shared_ptr<Channel> channel) { return answerer.attach(std::move(channel)); });
    int glances = 0;
    for (; !answerer.wait_closed(Clock::now() + kGlance); ++glances) {
      (void)silence.look(Clock::now());
      if (interrupted(options)) return failure("interrupted");
    }
    if (const std::optional<Answerer::End> end = answerer.end()) {
      if (end->kind == Answerer::End::Kind::kFinished) return end->text;
      return failure("{}: {}", end->kind == Answerer::End::Kind::kRefused ? address + " refused this process" : address,
                     end->text);
    }
    // Whoever waits for a run to begin is welcomed late, but the stream is there.
    if (answerer.welcomed() || glances * kGlance > kLongestDial) {
      silence.end();
      attempt = 0;
      next = options.addresses.size() - 1;  // begin with the first again
      if (options.say)
        options.say(
            {.line = fmt::format("the connection to {} is lost: {}; dialling again", address, answerer.why_closed()),
             .peer = address});
    }
    const double silent_s = silence.look(Clock::now()).count();
    if (silent_s > options.patience_s) {
      return failure("gave up after {:.0f} s: {}", silent_s, answerer.why_closed());
    }
    // Whoever is patient for a minute dials once more when it is over, however long the pauses have become.
    const double pause_s = std::min(with_jitter(std::min(kLongestPauseS, kFirstPauseS * std::pow(2.0, attempt))),
                                    std::max(kFirstPauseS, options.patience_s - silent_s));
    attempt = std::min(attempt + 1, 16u);
    const Clock::time_point until =
        Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(pause_s));
    while (Clock::now() < until) {
      (void)silence.look(Clock::now());
      if (interrupted(options)) return failure("interrupted");
      std::this_thread::sleep_for(std::min<Clock::duration>(kGlance, until - Clock::now()));
    }
  }
}

Result<std::string> stay_connected(std::span<const std::unique_ptr<Answerer>> answerers,
                                   const PeerLoopOptions& options) {
  if (answerers.size() == 1) return stay_connected(*answerers.front(), options);
  std::atomic<bool> stop{false};
  PeerLoopOptions each = options;
  each.interrupt = &stop;
  std::mutex mutex;  // of the two below
  std::condition_variable ended;
  std::optional<Result<std::string>> outcome;  // of the first that ended, unless another has failed since
  std::size_t running = answerers.size();
  std::vector<std::thread> threads;
  for (const std::unique_ptr<Answerer>& answerer : answerers) {
    threads.emplace_back([&, one = answerer.get()] {
      Result<std::string> mine = stay_connected(*one, each);
      const std::lock_guard lock(mutex);
      if (!outcome || (outcome->ok() && !mine.ok())) outcome = std::move(mine);
      if (!outcome->ok()) stop = true;
      --running;
      ended.notify_all();
    });
  }
  {
    std::unique_lock lock(mutex);
    while (!ended.wait_for(lock, kGlance, [&] { return running == 0; })) {
      if (interrupted(options)) stop = true;
    }
  }
  for (std::thread& thread : threads) thread.join();
  return std::move(*outcome);
}

}  // namespace muster
