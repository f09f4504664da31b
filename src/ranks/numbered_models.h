// Models that travel once: rank 0 numbers the models of the calls under way and knows who has which; the others keep
// what they were sent until these calls are over. A unit of work names a model, and brings it where it is lacking.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "base/parcel.h"

namespace muster {

// At rank 0. A model is known by its memory, which must not change before forget().
class NumberedModels {
 public:
  explicit NumberedModels(std::uint32_t ranks) : ranks_(ranks) {}

  // The same number for the same memory; 0 for an empty one. Numbers are never used again.
  [[nodiscard]] std::uint64_t number(std::span<const float> model);
  // Whether nobody but rank 0 has it; it then counts as sent to all.
  [[nodiscard]] bool give_to_all(std::uint64_t number);
  // Names the model, and puts it into the parcel if `rank` does not have it.
  void put(std::uint32_t rank, std::span<const float> model, ParcelWriter& out);
  void forget() { models_.clear(); }

 private:
  struct Sent {
    std::uint64_t number = 0;
    std::vector<bool> has;  // by rank
  };
  Sent& find(std::span<const float> model);

  std::uint32_t ranks_;
  std::uint64_t last_ = 0;
  std::map<const float*, Sent> models_;
};

// At the others.
class ReceivedModels {
 public:
  struct Model {
    std::uint64_t number = 0;
    std::shared_ptr<const std::vector<float>> values;  // null: there is none
  };

  // What NumberedModels::put() wrote; fails, as the reader does, if it was never sent or has more than `most` values.
  [[nodiscard]] Model take(ParcelReader& in, std::size_t most);
  [[nodiscard]] Model find(std::uint64_t number) const;
  void keep(std::uint64_t number, std::vector<float> values);
  void forget() { models_.clear(); }

 private:
  std::map<std::uint64_t, std::shared_ptr<const std::vector<float>>> models_;
};

}  // namespace muster
