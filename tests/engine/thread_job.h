// A job whose ranks are threads of this process; all but rank 0 serve until the object is gone.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

#include "engine/rank_run.h"
#include "ranks/thread_ranks.h"

namespace muster {

class ThreadJob {
 public:
  explicit ThreadJob(std::uint32_t size) : ranks_(ThreadRanks::make(size)) {
    for (std::uint32_t rank = 1; rank < size; ++rank) {
      others_.emplace_back([own = ranks_[rank].get()] { EXPECT_EQ(serve_runs(*own), 5); });
    }
  }
  ~ThreadJob() {
    quit_ranks(*ranks_[0], 5);
    for (std::thread& other : others_) other.join();
  }
  ThreadRanks& first() { return *ranks_[0]; }

 private:
  std::vector<std::unique_ptr<ThreadRanks>> ranks_;
  std::vector<std::thread> others_;
};

}  // namespace muster
