#include "engine/observed_round.h"

namespace muster {
namespace {

void append(std::span<const float> row, Rows<float>& rows) {
  rows.width = row.size();
  rows.values.insert(rows.values.end(), row.begin(), row.end());
}

}  // namespace

void ObservedRound::prepare(RoundTasks&) {
  clients_.clear();
  vectors_ = {};
  models_ = {};
}

void ObservedRound::member(const GroupUpdate& update, std::span<const float> start) {
  if (stopped_ || update.members.empty()) return;
  if (clients_.empty()) start_.assign(start.begin(), start.end());
  clients_.push_back(update.members.front().client);
  append(kind_.observe(network_, start, update.model), vectors_);
  if (keep_models_) append(update.model, models_);
}

}  // namespace muster
