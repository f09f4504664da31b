// What a client is asked to do with a model, and what it answers. Plain values, which travel; spans are borrowed until
// the answer is there.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "clients/dropped.h"
#include "solver/predictions.h"

namespace muster {

struct LocalUpdate {
  ClientId client;
  std::vector<float> model;    // the flat vector after training; empty if it stays with the client
  std::vector<float> payload;  // what the objective sends besides it; may be empty
  std::uint32_t samples = 0;   // the client's training samples: its weight; 0 where a sum hides them
  std::uint64_t steps = 0;
  std::uint64_t samples_trained = 0;
  double loss = 0;                   // mean over the samples of the last epoch, each before its step
  std::optional<double> loss_after;  // mean over all samples after training, where it was asked for
  std::uint64_t own_model = 0;       // hash of the model that stays with the client
};

using TrainReply = std::variant<LocalUpdate, Dropped>;

// How long a client trains.
struct LocalWork {
  double epochs = 1;
  std::optional<std::uint32_t> steps;  // instead of epochs
};

struct TrainTask {
  ClientId client;
  std::uint32_t round = 0;
  std::uint32_t part = 0;            // tells repeated visits of one client in one round apart
  std::span<const float> model;      // as received
  std::span<const float> broadcast;  // for the objective; may be empty
  double work = 1;                   // share of the usual epochs or steps, for stragglers
  bool own_model = false;            // start from, and keep, the client's own model (local training without a server)
  std::optional<double> epochs;      // instead of the recipe's
  bool measure = false;              // report the loss after training
  // Set for a trial, and says how long it is. The client minimises its own loss alone, and nothing of it is kept.
  std::optional<LocalWork> trial;
};

// Samples that are kept from training, and what for. Triggered: the test samples with what an attack puts into them.
enum class HeldOut { kTest, kValidation, kTriggered };

struct EvaluateTask {
  ClientId client;
  std::span<const float> model;  // may be empty where the client has its own
  std::uint32_t round = 1;       // after which it is evaluated
  std::uint64_t version = 0;     // of the model: equal numbers mean equal values; 0 = not known
  bool own_model = false;        // the client's own model where it has one
  HeldOut held_out = HeldOut::kTest;
  Details details = {};
};

struct Evaluation {
  std::uint64_t samples = 0;
  std::uint64_t correct = 0;
  double loss_sum = 0;
  std::shared_ptr<const Predictions> predictions = {};  // where details were asked for, else null
};

}  // namespace muster
