// Forecast: what a recipe would do, how much it would send, take and last, without training it and without leaving a
// file. Groups are formed where that needs no training by clients; the time is judged by a few steps of one of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "grouping/quality.h"
#include "recipe/recipe.h"

namespace muster {

struct Forecast {
  std::string recipe;
  std::string description;  // describe_recipe()
  std::vector<std::string> notes;
  std::uint64_t seed = 0;
  std::uint32_t rounds = 0;  // about, where `budget` ends the run before the recipe's
  std::string data;          // in words
  std::uint32_t clients = 0;
  std::uint64_t train_samples = 0;
  std::uint64_t test_samples = 0;  // that an evaluation scores
  std::string model;
  std::size_t parameters = 0;
  std::string layers;  // describe_network()

  // How groups are formed, and those of the first round; not set where clients must train to form them.
  std::string method;
  std::optional<std::uint32_t> groups;
  std::uint32_t idle = 0;
  GroupSizes sizes;
  double cov_mean = 0;
  std::uint32_t models = 1;

  // Of the first round; about, where groups are not known. Not set where then a number of them is drawn.
  std::optional<std::uint32_t> groups_per_round;
  std::optional<std::uint32_t> clients_per_round;
  std::uint64_t samples_per_round = 0;  // trained, counting every pass
  std::uint64_t bytes_up = 0;           // per round
  std::uint64_t bytes_down = 0;
  double cost_s = 0;  // simulated seconds per round

  std::uint32_t threads = 0;
  std::uint64_t memory_bytes = 0;  // about
  double profile_s = 0;            // about; of wall time on this machine, once
  double round_s = 0;              // about, with its share of evaluations
  double total_s = 0;
};

// Precondition: none; a recipe that is refused says why, as when it is run.
[[nodiscard]] Result<Forecast> forecast(Recipe recipe, std::uint32_t threads);
[[nodiscard]] std::string to_json(const Forecast& forecast);

}  // namespace muster
