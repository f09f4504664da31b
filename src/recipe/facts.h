// What the data decide about a recipe: read once, before anything trains, so that a recipe that cannot work is refused
// then and not in some later round, whatever faults befall its clients.
#pragma once

#include <cstdint>
#include <vector>

#include "recipe/recipe.h"

namespace muster {

// An edge server with clients among whom groups are formed.
struct EdgeFacts {
  std::uint32_t clients = 0;
  std::uint64_t samples = 0;
};

struct RecipeFacts {
  std::uint32_t clients = 0;
  std::uint32_t clients_with_samples = 0;
  std::uint32_t classes = 0;
  std::uint32_t most_samples = 0;  // of one client, to train on
  std::uint32_t late = 0;          // clients that are not there before newcomers.round
  // Those among whom the first groups are formed: with samples, there by then, and asked. Later ones have no fewer.
  std::vector<EdgeFacts> edges;
  bool global_test = false;        // the server has test samples
  bool client_tests = false;       // some client has
  bool client_validation = false;  // some client has validation samples
  bool exemplars = false;          // the server has some
  bool images = false;             // samples have a height and a width
};

// Asks every client for its number of samples.
[[nodiscard]] RecipeFacts recipe_facts(const Recipe& recipe, const FederatedData& data);

// The fewest clients among whom groups are formed: those of the smallest edge.
[[nodiscard]] std::uint32_t groupable_clients(const RecipeFacts& facts);

// Refuses what cannot work with these data, with the reason. Precondition: check_recipe() passes.
[[nodiscard]] Status check_recipe_for(const Recipe& recipe, const RecipeFacts& facts);

}  // namespace muster
