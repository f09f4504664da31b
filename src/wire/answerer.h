// Answerer: the side that dials. Takes asks from a channel, has a Workplace do them on threads of its own, and sends
// the answers, also through a later channel if the first one closed meanwhile. An answer is kept until its verdict:
// whoever is asked the same again, with the same models, sends it again instead of working twice.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "wire/wire_note.h"
#include "wire/workplace.h"

namespace muster {

class Answerer {
 public:
  struct Options {
    v1::Hello hello;
    std::uint32_t threads = 1;  // how many asks are worked on at a time
    ChunkReader::Limits limits;
    // Makes the workplace of a run; called by a thread of the answerer, again whenever another run or incarnation
    // welcomes it. Returns what it gave before where that still fits.
    std::function<Result<std::shared_ptr<Workplace>>(const v1::Welcome&)> begin;
    // Of clients with data of their own: the Hello with data sheets, once it is known how to read them. Called as
    // begin() is.
    std::function<Result<v1::Hello>(const v1::HowToRead&)> tell;
    // Of edges, instead: what is to be told to clients, a HowToRead or an Admission. Called as begin() is.
    std::function<void(const v1::Frame&)> pass_on;
    SayNote say;
  };

  // How a run ended for this process.
  struct End {
    enum class Kind { kFinished, kRefused, kFailed };
    Kind kind = Kind::kFinished;
    std::string text;  // the signature, or the reason
  };

  explicit Answerer(Options options);
  ~Answerer();
  Answerer(const Answerer&) = delete;
  Answerer& operator=(const Answerer&) = delete;

  // A channel that has been dialled, in place of the one before. The user says Hello when it is first needed: call
  // greet() once the transport is ready.
  [[nodiscard]] std::shared_ptr<ChannelUser> attach(std::shared_ptr<Channel> channel);
  // Of edges: whose clients came and went; whoever is here is told of again with later Hellos.
  void presence(const std::vector<v1::Client>& came, const std::vector<v1::Client>& went);

  // Waits until the channel is closed, or the deadline; whether it is. Then: how the run ended, if it did.
  [[nodiscard]] bool wait_closed(std::chrono::steady_clock::time_point deadline);
  [[nodiscard]] std::optional<End> end() const;
  // Whether the present channel was ever answered.
  [[nodiscard]] bool welcomed() const;
  [[nodiscard]] std::string why_closed() const;

  // For whoever gave it no threads: does the next thing that is to be done, if there is one; whether there was.
  bool work_on();

 private:
  class User;
  struct Job;

  void work();
  [[nodiscard]] bool has_work() const;               // with the lock held
  void do_next(std::unique_lock<std::mutex>& lock);  // let go of meanwhile
  void say(const WireNote& note) const;
  void prepare(const v1::Welcome& welcome);
  void tell(const v1::HowToRead& how);
  void heed(const v1::Frame& news);
  void tell_of(const v1::Client& client);
  [[nodiscard]] Result<OutgoingReply> answer(Job& job, Workplace& workplace);
  void receive(User& user, v1::Frame frame);
  void take_ask(User& user, const v1::Ask& ask);
  void take_verdict(const v1::Verdict& verdict);
  void send(const OutgoingReply& reply);  // with the lock held
  void stop(const End& end);              // with the lock held
  void refuse(const std::string& reason);

  Options options_;
  VectorNumbers numbers_;
  mutable std::mutex mutex_;  // of all below
  std::condition_variable changed_;
  bool quit_ = false;
  std::shared_ptr<Channel> channel_;
  User* user_ = nullptr;
  bool closed_ = true;
  bool welcomed_ = false;
  std::string why_closed_;
  bool told_why_ = false;  // by the other side, which is worth more than that the stream ended
  std::optional<End> end_;
  std::vector<v1::Client> behind_;  // of edges: who is here
  std::deque<v1::Frame> news_;      // Welcome, HowToRead, Admission: heeded one after the other, before any ask
  bool preparing_ = false;          // somebody heeds one
  std::shared_ptr<Workplace> workplace_;
  std::deque<std::shared_ptr<Job>> queue_;
  std::map<std::uint64_t, std::shared_ptr<Job>> jobs_;  // by what they ask for
  std::vector<std::thread> crew_;
};

}  // namespace muster
