// Stored data in memory that the processes of a machine share: one of them reads and divides the data and moves the
// samples there, the others see them, with who has which. What is for people (names, notes, how it was read) stays with
// the first.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "base/result.h"
#include "base/shared_memory.h"
#include "data/federated_data.h"
#include "data/partition.h"

namespace muster {

// What there is to share, borrowed.
struct SharedArrays {
  Samples* train = nullptr;
  Samples* test = nullptr;       // may hold none
  bool tests_in_train = false;   // clients' tests are rows of `train`, not of `test`
  bool global_in_train = false;  // likewise the server's
  std::uint32_t edges = 1;
  const Division* train_rows = nullptr;
  const Division* test_rows = nullptr;
  const Division* validation_rows = nullptr;
  std::span<const std::uint32_t> global_test;
  std::span<const std::uint32_t> global_validation;
  std::span<const std::uint32_t> exemplars;
};

// Copies all of it into shared memory, and moves the samples: theirs are then the values there, which live as long as
// the memory. While the largest column is copied, there are two of it. After a failure nothing has changed.
[[nodiscard]] Result<std::shared_ptr<const SharedMemory>> share_arrays(const SharedArrays& parts);

// The data that share_arrays() put there: all that training and evaluation need of them. Fails if it is something else.
[[nodiscard]] Result<std::unique_ptr<FederatedData>> attach_data(std::shared_ptr<const SharedMemory> memory);

}  // namespace muster
