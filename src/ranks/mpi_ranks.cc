#include "ranks/mpi_ranks.h"

#include <mpi.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <deque>
#include <vector>

namespace muster {
namespace {

constexpr int kHeadTag = 1;   // of a parcel: the sizes of its blocks, then its words
constexpr int kBlockTag = 2;  // the blocks, in order
// MPI counts in int. A larger block travels in several messages.
constexpr std::size_t kMessageFloats = std::size_t{1} << 28;
// What a parcel may hold at most, checked before room is made for it.
constexpr std::uint64_t kMostBlocks = std::uint64_t{1} << 20;
constexpr std::uint64_t kMostBlockFloats = std::uint64_t{1} << 36;

constexpr std::chrono::milliseconds kLookForLost{20};

// Calls take(pointer, count) for every message of so many floats.
template <typename T, typename Take>
void in_messages(T* values, std::size_t count, const Take& take) {
  for (std::size_t at = 0; at < count; at += kMessageFloats) {
    take(values + at, static_cast<int>(std::min(kMessageFloats, count - at)));
  }
}

template <typename T>
std::vector<T> gather_all(const std::vector<T>& own, int size) {
  std::vector<T> all(own.size() * static_cast<std::size_t>(size));
  const int bytes = static_cast<int>(own.size() * sizeof(T));
  MPI_Allgather(own.data(), bytes, MPI_BYTE, all.data(), bytes, MPI_BYTE, MPI_COMM_WORLD);
  return all;
}

class MpiRanks final : public Ranks {
 public:
  MpiRanks() {
    int number = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &number);
    rank_ = static_cast<std::uint32_t>(number);
    MPI_Comm_size(MPI_COMM_WORLD, &number);
    size_ = static_cast<std::uint32_t>(number);
    MPI_Comm_dup(MPI_COMM_WORLD, &parcels_);
    MPI_Comm_dup(MPI_COMM_WORLD, &broadcasts_);
    std::vector<char> own(MPI_MAX_PROCESSOR_NAME, '\0');
    int length = 0;
    MPI_Get_processor_name(own.data(), &length);
    const std::vector<char> names = gather_all(own, number);
    for (std::size_t i = 0; i < size_; ++i) hosts_.emplace_back(&names[i * own.size()]);
    processes_ = gather_all(std::vector<pid_t>{::getpid()}, number);
  }

  ~MpiRanks() override {
    if (lost_) return;  // the launcher ends the job
    while (sending()) {
    }
    MPI_Comm_free(&parcels_);
    MPI_Comm_free(&broadcasts_);
    MPI_Finalize();
  }

  std::uint32_t rank() const override { return rank_; }
  std::uint32_t size() const override { return size_; }
  std::vector<std::uint32_t> neighbours() const override {
    std::vector<std::uint32_t> here;
    for (std::uint32_t rank = 0; rank < size_; ++rank) {
      if (hosts_[rank] == hosts_[rank_]) here.push_back(rank);
    }
    return here;
  }
  std::string name(std::uint32_t rank) const override { return fmt::format("rank {} on {}", rank, hosts_[rank]); }

  void send(std::uint32_t to, Parcel parcel) override {
    Sent& sent = sent_.emplace_back();
    sent.parcel = std::move(parcel);
    std::vector<std::uint64_t> sizes{sent.parcel.blocks.size()};
    for (const std::vector<float>& block : sent.parcel.blocks) sizes.push_back(block.size());
    const auto* const first = reinterpret_cast<const std::byte*>(sizes.data());
    std::vector<std::byte>& words = sent.parcel.words;
    words.insert(words.begin(), first, first + sizes.size() * sizeof(std::uint64_t));
    const int target = static_cast<int>(to);
    MPI_Isend(words.data(), static_cast<int>(words.size()), MPI_BYTE, target, kHeadTag, parcels_, sent.next());
    traffic_.sent_bytes += words.size();
    for (const std::vector<float>& block : sent.parcel.blocks) {
      in_messages(block.data(), block.size(), [&](const float* values, int count) {
        MPI_Isend(values, count, MPI_FLOAT, target, kBlockTag, parcels_, sent.next());
      });
      traffic_.sent_bytes += block.size() * sizeof(float);
    }
  }

  std::optional<Arrived> receive() override {
    int there = 0;
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status status;
    MPI_Improbe(MPI_ANY_SOURCE, kHeadTag, parcels_, &there, &message, &status);
    if (!there) return std::nullopt;
    int bytes = 0;
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    std::vector<std::byte> head(static_cast<std::size_t>(bytes));
    MPI_Mrecv(head.data(), bytes, MPI_BYTE, &message, MPI_STATUS_IGNORE);
    traffic_.received_bytes += head.size();
    Arrived arrived{.from = static_cast<std::uint32_t>(status.MPI_SOURCE)};
    ParcelReader in({.words = head});
    const std::size_t blocks = in.take_below<std::uint64_t>(std::min<std::uint64_t>(kMostBlocks, head.size() / 8));
    for (std::size_t i = 0; i < blocks; ++i) {
      std::vector<float> block(in.take_below<std::uint64_t>(kMostBlockFloats));
      if (in.failed()) return arrived;  // without words: whoever reads it finds it malformed
      in_messages(block.data(), block.size(), [&](float* values, int count) {
        MPI_Recv(values, count, MPI_FLOAT, status.MPI_SOURCE, kBlockTag, parcels_, MPI_STATUS_IGNORE);
      });
      traffic_.received_bytes += block.size() * sizeof(float);
      arrived.parcel.blocks.push_back(std::move(block));
    }
    if (in.failed()) return arrived;
    head.erase(head.begin(), head.begin() + static_cast<std::ptrdiff_t>((blocks + 1) * sizeof(std::uint64_t)));
    arrived.parcel.words = std::move(head);
    return arrived;
  }

  bool sending() override {
    std::erase_if(sent_, [](Sent& sent) {
      int done = 0;
      MPI_Testall(static_cast<int>(sent.requests.size()), sent.requests.data(), &done, MPI_STATUSES_IGNORE);
      return done != 0;
    });
    return !sent_.empty();
  }

  void give_all(std::span<const float> values) override {
    // MPI wants memory that it could write to, and does not write to the root's.
    in_messages(const_cast<float*>(values.data()), values.size(),
                [&](float* part, int count) { MPI_Bcast(part, count, MPI_FLOAT, 0, broadcasts_); });
    traffic_.sent_bytes += values.size_bytes() * (size_ - 1);
  }

  void take_all(std::span<float> values) override {
    in_messages(values.data(), values.size(),
                [&](float* part, int count) { MPI_Bcast(part, count, MPI_FLOAT, 0, broadcasts_); });
    traffic_.received_bytes += values.size_bytes();
  }

  // The launcher ends a job of which a process has died, but may say little about it. Processes of this machine can be
  // looked for.
  std::optional<std::uint32_t> lost() override {
    const auto now = std::chrono::steady_clock::now();
    if (lost_ || now - looked_ < kLookForLost) return lost_;
    looked_ = now;
    for (std::uint32_t other = 0; other < size_ && !lost_; ++other) {
      if (hosts_[other] == hosts_[rank_] && ::kill(processes_[other], 0) != 0 && errno == ESRCH) lost_ = other;
    }
    return lost_;
  }

  Traffic traffic() const override { return traffic_; }

 private:
  struct Sent {
    Parcel parcel;
    std::vector<MPI_Request> requests;
    MPI_Request* next() { return &requests.emplace_back(MPI_REQUEST_NULL); }
  };

  std::uint32_t rank_ = 0;
  std::uint32_t size_ = 1;
  std::vector<std::string> hosts_;
  std::vector<pid_t> processes_;
  MPI_Comm parcels_ = MPI_COMM_NULL;
  MPI_Comm broadcasts_ = MPI_COMM_NULL;
  std::deque<Sent> sent_;
  Traffic traffic_;
  std::optional<std::uint32_t> lost_;
  std::chrono::steady_clock::time_point looked_ = std::chrono::steady_clock::now();
};

// mpirun binds each process to one core unless it is told otherwise, and then all threads share it. Whoever starts a
// program with threads does not mean that.
void use_all_cores() {
  if (!std::getenv("OMPI_MCA_orte_bound_at_launch")) return;
  cpu_set_t all;
  CPU_ZERO(&all);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) CPU_SET(cpu, &all);
  (void)::sched_setaffinity(0, sizeof all, &all);  // what this process may not use is left out
}

}  // namespace

Result<std::unique_ptr<Ranks>> join_mpi(std::uint32_t started) {
  use_all_cores();
  // Whoever waits inside MPI lets others run: cores may be shared.
  ::setenv("OMPI_MCA_mpi_yield_when_idle", "1", 0);
  int granted = MPI_THREAD_SINGLE;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &granted);
  if (granted < MPI_THREAD_FUNNELED) return failure("MPI does not allow threads (MPI_THREAD_FUNNELED)");
  int seen = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &seen);
  if (static_cast<std::uint32_t>(seen) != started) {
    MPI_Finalize();
    return failure("{} processes were started, but MPI sees {}: start them with mpirun, or with srun --mpi=pmix",
                   started, seen);
  }
  return std::unique_ptr<Ranks>(new MpiRanks);
}

}  // namespace muster
