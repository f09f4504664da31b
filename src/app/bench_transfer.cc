#include "app/bench_transfer.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "app/bench_clock.h"
#include "base/hash.h"
#include "base/random.h"
#include "net/dialer.h"
#include "net/listener.h"
#include "record/json_text.h"
#include "wire/chunks.h"

namespace muster {
namespace {

constexpr int kPatienceMs = 120'000;

// A process that shares what this one has so far, and says lines.
class Fork {
 public:
  // `work` runs in the other process, which ends with it; it says lines through the file.
  static Result<Fork> start(const std::function<void(int file)>& work) {
    int ends[2];
    if (::pipe(ends) != 0) return failure("cannot make a pipe");
    const pid_t parent = ::getpid();
    const pid_t process = ::fork();
    if (process < 0) return failure("cannot start a process");
    if (process == 0) {
      ::close(ends[0]);
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (::getppid() == parent) work(ends[1]);
      ::_exit(0);
    }
    ::close(ends[1]);
    return Fork(process, ends[0]);
  }
  ~Fork() {
    if (process_ <= 0) return;
    ::kill(process_, SIGKILL);
    while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
    }
    ::close(file_);
  }
  Fork(Fork&& other) noexcept : process_(std::exchange(other.process_, -1)), file_(other.file_) {}
  Fork& operator=(Fork&&) = delete;

  Result<std::string> line() const {
    std::string text;
    char c = 0;
    while (true) {
      pollfd waits{.fd = file_, .events = POLLIN, .revents = 0};
      if (::poll(&waits, 1, kPatienceMs) <= 0) return failure("a process that sends models does not answer");
      if (::read(file_, &c, 1) != 1) return failure("a process that sends models has ended");
      if (c == '\n') return text;
      text += c;
    }
  }

 private:
  Fork(pid_t process, int file) : process_(process), file_(file) {}
  pid_t process_;
  int file_;
};

void say(int file, const std::string& text) {
  const std::string line = text + '\n';
  (void)!::write(file, line.data(), line.size());
}

// The same in both processes.
std::shared_ptr<const WireVector> make_vector(std::size_t values) {
  auto vector = std::make_shared<WireVector>();
  vector->number = 1;
  vector->values.resize(values);
  Stream stream({.seed = 1, .purpose = Purpose::kBench});
  for (float& value : vector->values) value = static_cast<float>(stream.uniform());
  return vector;
}

// One end of the stream. It acknowledges every vector that came as it was sent (Forget), and sends a window of them
// when it hears a Hello.
class End final : public ChannelUser {
 public:
  End(const TransferOptions& options, std::shared_ptr<const WireVector> vector)
      : options_(options),
        vector_(std::move(vector)),
        digest_(hash_bytes(vector_->values.data(), vector_->values.size() * sizeof(float))),
        reader_({.vector_values = options.values, .held_values = options.values, .held_vectors = 1}) {}

  void use(std::shared_ptr<Channel> channel) { channel_ = std::move(channel); }

  void received(v1::Frame frame) override {
    if (frame.has_hello()) return send_window();
    if (frame.has_forget()) return count(acknowledged_);
    const Status added = reader_.add(frame.chunk());
    if (!added) return fail(added.error().message);
    const std::shared_ptr<const WireVector> whole = reader_.find(vector_->number);
    if (!whole) return;
    // Once is enough: from then on the checksums of the chunks tell.
    if (!checked_ && hash_bytes(whole->values.data(), whole->values.size() * sizeof(float)) != digest_) {
      return fail("a model arrived as another one");
    }
    checked_ = true;
    reader_.forget(vector_->number);
    v1::Frame answer;
    answer.mutable_forget()->add_vectors(vector_->number);
    channel_->send({std::move(answer)});
    count(came_);
  }
  void closed(const std::string& why) override { fail(why); }

  // Of the one that dialled: seconds of a window.
  Result<double> up() {
    const double begun = wall_seconds();
    send_window();
    MUSTER_TRY(wait(acknowledged_));
    return wall_seconds() - begun;
  }
  Result<double> down() {
    const double begun = wall_seconds();
    v1::Frame frame;
    frame.mutable_hello();
    channel_->send({std::move(frame)});
    MUSTER_TRY(wait(came_));
    return wall_seconds() - begun;
  }

 private:
  void send_window() {
    for (std::uint32_t i = 0; i < options_.vectors; ++i) channel_->send({{}, vector_});
  }
  void count(std::uint32_t& counter) {
    const std::lock_guard lock(mutex_);
    ++counter;
    changed_.notify_all();
  }
  void fail(const std::string& why) {
    const std::lock_guard lock(mutex_);
    if (!failed_) failed_ = why;
    changed_.notify_all();
  }
  Status wait(std::uint32_t& counter) {
    std::unique_lock lock(mutex_);
    const bool done = changed_.wait_for(lock, std::chrono::milliseconds(kPatienceMs),
                                        [&] { return counter >= options_.vectors || failed_; });
    counter = 0;
    if (failed_) return failure("{}", *failed_);
    if (!done) return failure("models do not arrive");
    return {};
  }

  const TransferOptions& options_;
  const std::shared_ptr<const WireVector> vector_;
  const std::uint64_t digest_;
  ChunkReader reader_;
  bool checked_ = false;
  std::shared_ptr<Channel> channel_;
  std::mutex mutex_;  // of all below
  std::condition_variable changed_;
  std::uint32_t came_ = 0;
  std::uint32_t acknowledged_ = 0;
  std::optional<std::string> failed_;
};

void listen(const TransferOptions& options, int file) {
  const auto end = std::make_shared<End>(options, make_vector(options.values));
  const Result<std::unique_ptr<Listener>> listener =
      Listener::start({.address = "127.0.0.1:0",
                       .credentials = options.listener,
                       .attach = [end](const std::string&, const std::string&,
                                       std::shared_ptr<Channel> channel) -> Result<std::shared_ptr<ChannelUser>> {
                         end->use(std::move(channel));
                         return std::shared_ptr<ChannelUser>(end);
                       },
                       .say = {}});
  if (!listener) return;
  say(file, std::to_string((*listener)->port()));
  while (true) ::pause();  // until it is killed
}

Result<TransferRates> measure(const TransferOptions& options, const std::string& port) {
  const auto end = std::make_shared<End>(options, make_vector(options.values));
  dial("localhost:" + port, options.dialler, [&](std::shared_ptr<Channel> channel) {
    end->use(std::move(channel));
    return end;
  });
  const double gigabytes = 1e-9 * static_cast<double>(options.values * sizeof(float) * options.vectors);
  TransferRates rates;
  for (std::uint32_t i = 0; i < options.windows; ++i) {
    MUSTER_ASSIGN(const double up_s, end->up());
    MUSTER_ASSIGN(const double down_s, end->down());
    rates.up_gb_per_s = std::max(rates.up_gb_per_s, gigabytes / up_s);
    rates.down_gb_per_s = std::max(rates.down_gb_per_s, gigabytes / down_s);
  }
  return rates;
}

}  // namespace

Result<TransferRates> measure_transfer(const TransferOptions& options) {
  MUSTER_ASSIGN(const Fork listener, Fork::start([&](int file) { listen(options, file); }));
  MUSTER_ASSIGN(const std::string port, listener.line());
  MUSTER_ASSIGN(const Fork dialler, Fork::start([&](int file) {
                  const Result<TransferRates> rates = measure(options, port);
                  nlohmann::ordered_json told;
                  if (rates) {
                    told = {{"up", rates->up_gb_per_s}, {"down", rates->down_gb_per_s}};
                  } else {
                    told = {{"error", rates.error().message}};
                  }
                  say(file, json_text(told));
                }));
  MUSTER_ASSIGN(const std::string line, dialler.line());
  MUSTER_ASSIGN(const nlohmann::json told, parse_json(line));
  if (told.contains("error")) return failure("{}", told.value("error", ""));
  return TransferRates{.up_gb_per_s = told.value("up", 0.0), .down_gb_per_s = told.value("down", 0.0)};
}

}  // namespace muster
