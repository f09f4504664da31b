#include "engine/loss_history.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "plan/regroup.h"

namespace muster {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

}  // namespace

LossHistory::LossHistory(std::uint32_t clients) : sums_(clients), counts_(clients), last_(clients, kNone) {}

void LossHistory::prepare(RoundTasks& tasks) {
  rounds_ = tasks.round;
}

void LossHistory::group(const GroupUpdate& update) {
  for (const MemberReport& member : update.members) {
    if (!member.loss_after) continue;
    sums_[member.client.value] += *member.loss_after;
    ++counts_[member.client.value];
    last_[member.client.value] = *member.loss_after;
  }
}

void LossHistory::end(const Models&, RoundRecord& record) {
  std::vector<double> all;
  all.reserve(sums_.size());
  for (std::uint32_t k = 0; k < sums_.size(); ++k) all.push_back(summed({k}));
  variances_.push_back(cumulative_loss_variance(all));
  record.loss_variance = variances_.back();
}

double LossHistory::summed(ClientId client) const {
  const double count = counts_[client.value];
  if (count == 0) return kNone;
  const double sum = sums_[client.value];
  return count == rounds_ ? sum : sum / count * rounds_;
}

void LossHistory::save(Checkpoint& checkpoint) const {
  checkpoint.put_uint64("loss-rounds", rounds_);
  checkpoint.put_doubles("loss-sums", sums_);
  checkpoint.put_doubles("loss-counts", counts_);
  checkpoint.put_doubles("loss-last", last_);
  checkpoint.put_doubles("loss-variances", variances_);
}

Status LossHistory::restore(const Checkpoint& checkpoint) {
  MUSTER_ASSIGN(const std::uint64_t rounds, checkpoint.get_uint64("loss-rounds"));
  MUSTER_ASSIGN(std::vector<double> sums, checkpoint.get_doubles("loss-sums"));
  MUSTER_ASSIGN(std::vector<double> counts, checkpoint.get_doubles("loss-counts"));
  MUSTER_ASSIGN(std::vector<double> last, checkpoint.get_doubles("loss-last"));
  MUSTER_ASSIGN(std::vector<double> variances, checkpoint.get_doubles("loss-variances"));
  const std::size_t clients = sums_.size();
  const bool counted = std::ranges::all_of(counts, [&](double count) {
    return count >= 0 && count <= static_cast<double>(rounds) && count == std::floor(count);
  });
  if (rounds != checkpoint.round || variances.size() != rounds || sums.size() != clients || counts.size() != clients ||
      last.size() != clients || !counted) {
    return failure("checkpoint of round {} holds losses of another form", checkpoint.round);
  }
  rounds_ = checkpoint.round;
  sums_ = std::move(sums);
  counts_ = std::move(counts);
  last_ = std::move(last);
  variances_ = std::move(variances);
  return {};
}

}  // namespace muster
