// LocalOptions: how a client trains on its own samples.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "solver/objective.h"

namespace muster {

// The [local] section of a recipe.
struct LocalOptions {
  double epochs = 1;                   // may be fractional: 1.5 is one epoch and half the batches of another
  std::optional<std::uint32_t> steps;  // mini-batch steps instead of epochs
  std::uint32_t batch_size = 32;
  double learning_rate = 0.01;
  std::string schedule = "decay";                // a name from schedules()
  double learning_rate_decay = 1;                // decay: factor per round
  std::optional<std::uint32_t> schedule_rounds;  // steps, cosine; a cosine takes the run's where none are given
  double schedule_factor = 0.2;                  // steps
  double momentum = 0;
  double weight_decay = 0;
  std::string optimizer = "sgd";         // sgd | adam
  std::optional<double> adapt_epochs;    // growth of the epochs of clients that lag behind; not set: all train `epochs`
  double loss_tolerance = 0.02;          // a client lags if its summed loss exceeds the largest client's by this share
  std::string epoch_rounding = "round";  // round | ceil | fractional: of adapted epochs
  bool keep_optimizer = false;           // a client's momentum or Adam state outlives the task
  std::uint32_t state_limit_mb = 512;    // per-client state in memory; more goes to the run's folder
  ObjectiveOptions objective;

  // Parts are named as in model/parameter_parts.h.
  std::vector<std::string> personal;  // parts that stay with the client: trained, kept, never sent
  // The personal part is trained alone first, for so many epochs; then the rest, without it.
  std::optional<double> personal_epochs;
  // Besides, every client trains a model of its own, which is drawn to the received one by this weight, and is scored
  // with it.
  std::optional<double> own_model;
  std::vector<std::string> freeze;  // parts that are not trained
  std::uint32_t freeze_from = 1;    // the first round in which they are not
  // Before a client is scored, the model is trained on its samples for so many epochs; nothing of it is kept.
  std::optional<double> fine_tune;
};

}  // namespace muster
