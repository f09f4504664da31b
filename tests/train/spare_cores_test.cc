// Federations side by side: who may borrow how many cores, and a pool that asks before every job.
#include "train/spare_cores.h"

#include <gtest/gtest.h>

#include <atomic>
#include <set>

#include "train/worker_pool.h"

namespace muster {
namespace {

TEST(SpareCores, LendsOnlyWhatNobodyHas) {
  SpareCores spare(4);
  EXPECT_EQ(spare.borrow(8), 0u) << "nobody has begun";
  for (int i = 0; i < 4; ++i) spare.begin();
  EXPECT_EQ(spare.borrow(8), 0u) << "one each";
  spare.end();
  EXPECT_EQ(spare.borrow(8), 1u);
  EXPECT_EQ(spare.borrow(8), 0u);
  spare.give_back(1);
  EXPECT_EQ(spare.borrow(8), 1u);
}

TEST(SpareCores, NobodyTakesMoreThanItsShareRoundedUp) {
  SpareCores spare(8);
  for (int i = 0; i < 3; ++i) spare.begin();
  EXPECT_EQ(spare.borrow(8), 2u) << "5 for 3";
  EXPECT_EQ(spare.borrow(1), 1u) << "what is asked for";
  EXPECT_EQ(spare.borrow(8), 2u);
  EXPECT_EQ(spare.borrow(8), 0u);
}

TEST(SpareCores, TheLastOneMayHaveAll) {
  SpareCores spare(8);
  spare.begin();
  EXPECT_EQ(spare.borrow(100), 7u);
}

TEST(SpareCores, MoreFederationsThanCoresBorrowNothing) {
  SpareCores spare(2);
  for (int i = 0; i < 5; ++i) spare.begin();
  EXPECT_EQ(spare.borrow(1), 0u);
}

class SharedPool : public testing::Test {
 protected:
  // The workers that took part in a job of so many tasks.
  std::set<std::uint32_t> workers_of(WorkerPool& pool, std::uint32_t tasks) {
    std::mutex mutex;
    std::set<std::uint32_t> seen;
    std::vector<int> done(tasks, 0);
    const Status status = pool.run(tasks, [&](std::uint32_t worker, std::uint32_t task) -> Status {
      const std::lock_guard lock(mutex);
      seen.insert(worker);
      ++done[task];
      return {};
    });
    EXPECT_TRUE(status.ok());
    for (const int times : done) EXPECT_EQ(times, 1);
    return seen;
  }
};

TEST_F(SharedPool, AsksForWorkersBeforeEveryJob) {
  SpareCores spare(3);
  for (int i = 0; i < 3; ++i) spare.begin();
  WorkerPool pool(3, &spare);
  EXPECT_EQ(workers_of(pool, 50), (std::set<std::uint32_t>{0}));
  EXPECT_EQ(pool.workers(), 1u);
  spare.end();
  workers_of(pool, 50);
  EXPECT_EQ(pool.workers(), 2u);
  spare.end();
  workers_of(pool, 50);
  EXPECT_EQ(pool.workers(), 3u);
  spare.begin();
  spare.begin();
  EXPECT_EQ(workers_of(pool, 50), (std::set<std::uint32_t>{0})) << "workers that have been there sleep";
  EXPECT_EQ(spare.borrow(1), 0u);
}

TEST_F(SharedPool, WhomAJobIsNotForStaysOut) {
  SpareCores spare(3);
  spare.begin();
  WorkerPool pool(3, &spare);
  workers_of(pool, 50);
  EXPECT_EQ(pool.workers(), 3u);
  spare.begin();
  for (int i = 0; i < 500; ++i) EXPECT_FALSE(workers_of(pool, 50).contains(2)) << "job " << i;
  EXPECT_EQ(pool.workers(), 2u);
}

TEST_F(SharedPool, GivesBackWhatItBorrowed) {
  SpareCores spare(2);
  spare.begin();
  WorkerPool pool(2, &spare);
  for (int i = 0; i < 20; ++i) {
    workers_of(pool, 10);
    EXPECT_EQ(pool.workers(), 2u) << "job " << i;
  }
  EXPECT_EQ(spare.borrow(5), 1u);
}

TEST_F(SharedPool, AWorkerPreparesItselfOnceBeforeItsFirstTask) {
  SpareCores spare(2);
  spare.begin();
  WorkerPool pool(2, &spare);
  std::atomic<int> prepared{0};
  pool.set_first([&](std::uint32_t worker) {
    EXPECT_EQ(worker, 1u);
    ++prepared;
  });
  EXPECT_EQ(prepared, 0) << "not before it is wanted";
  for (int i = 0; i < 5; ++i) workers_of(pool, 10);
  EXPECT_EQ(prepared, 1);
}

TEST_F(SharedPool, AFailureGivesBackToo) {
  SpareCores spare(2);
  spare.begin();
  WorkerPool pool(2, &spare);
  const Status status = pool.run(4, [](std::uint32_t, std::uint32_t) -> Status { return failure("no"); });
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(spare.borrow(5), 1u);
}

}  // namespace
}  // namespace muster
