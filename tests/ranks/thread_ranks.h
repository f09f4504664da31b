// ThreadRanks: ranks that are threads of one process, with queues between them.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <numeric>
#include <vector>

#include "ranks/ranks.h"

namespace muster {

class ThreadRanks final : public Ranks {
 public:
  // What the ranks of a job share.
  struct Job {
    explicit Job(std::uint32_t size) : parcels(size), given(size) {}
    std::mutex mutex;
    std::condition_variable changed;
    std::vector<std::deque<Arrived>> parcels;           // to each rank
    std::vector<std::deque<std::vector<float>>> given;  // to each rank
    std::optional<std::uint32_t> lost;
  };

  static std::vector<std::unique_ptr<ThreadRanks>> make(std::uint32_t size) {
    auto job = std::make_shared<Job>(size);
    std::vector<std::unique_ptr<ThreadRanks>> ranks;
    for (std::uint32_t rank = 0; rank < size; ++rank) ranks.emplace_back(new ThreadRanks(job, rank));
    return ranks;
  }

  std::uint32_t rank() const override { return rank_; }
  std::uint32_t size() const override { return static_cast<std::uint32_t>(job_->parcels.size()); }
  std::vector<std::uint32_t> neighbours() const override {
    std::vector<std::uint32_t> all(size());
    std::iota(all.begin(), all.end(), 0u);
    return all;
  }
  std::string name(std::uint32_t rank) const override { return fmt::format("rank {} on here", rank); }

  void send(std::uint32_t to, Parcel parcel) override {
    const std::lock_guard lock(job_->mutex);
    job_->parcels[to].push_back({rank_, std::move(parcel)});
    for (const auto& block : job_->parcels[to].back().parcel.blocks) traffic_.sent_bytes += 4 * block.size();
  }
  std::optional<Arrived> receive() override {
    const std::lock_guard lock(job_->mutex);
    std::deque<Arrived>& mine = job_->parcels[rank_];
    if (mine.empty()) return std::nullopt;
    Arrived first = std::move(mine.front());
    mine.pop_front();
    return first;
  }
  bool sending() override { return false; }
  void give_all(std::span<const float> values) override {
    const std::lock_guard lock(job_->mutex);
    for (std::uint32_t to = 1; to < size(); ++to) job_->given[to].emplace_back(values.begin(), values.end());
    traffic_.sent_bytes += values.size_bytes() * (size() - 1);
    job_->changed.notify_all();
  }
  void take_all(std::span<float> values) override {
    std::unique_lock lock(job_->mutex);
    std::deque<std::vector<float>>& mine = job_->given[rank_];
    job_->changed.wait(lock, [&] { return !mine.empty(); });
    MUSTER_CHECK(mine.front().size() == values.size(), "{} != {}", mine.front().size(), values.size());
    std::ranges::copy(mine.front(), values.begin());
    mine.pop_front();
  }
  std::optional<std::uint32_t> lost() override {
    const std::lock_guard lock(job_->mutex);
    return job_->lost;
  }
  Traffic traffic() const override { return traffic_; }

  void lose(std::uint32_t rank) {
    const std::lock_guard lock(job_->mutex);
    job_->lost = rank;
  }

 private:
  ThreadRanks(std::shared_ptr<Job> job, std::uint32_t rank) : job_(std::move(job)), rank_(rank) {}

  std::shared_ptr<Job> job_;
  std::uint32_t rank_;
  Traffic traffic_;
};

}  // namespace muster
