#include "ranks/messages.h"

#include <memory>
#include <utility>

namespace muster {
namespace {

constexpr std::uint64_t kDropReasons = static_cast<std::uint64_t>(DropReason::kRefused) + 1;
// The least that one of them takes, so that a count can be checked before anything is made room for.
constexpr std::size_t kDroppedBytes = 5;
constexpr std::size_t kLostBytes = 5;
constexpr std::size_t kReportBytes = 62;

void put_report(const MemberReport& report, ParcelWriter& out) {
  out.put(report.client);
  out.put(report.samples);
  out.put(report.steps);
  out.put(report.samples_trained);
  out.put(report.loss);
  out.put(report.loss_after);
  out.put(report.visits);
  out.put(report.own_model);
  out.put(static_cast<std::uint8_t>(report.filtered));
  out.put(report.times_filtered);
  out.put(report.times_clipped);
}

MemberReport take_report(ParcelReader& in) {
  MemberReport report;
  report.client = in.take<ClientId>();
  report.samples = in.take<std::uint32_t>();
  report.steps = in.take<std::uint64_t>();
  report.samples_trained = in.take<std::uint64_t>();
  report.loss = in.take_double();
  report.loss_after = in.take_optional();
  report.visits = in.take<std::uint32_t>();
  report.own_model = in.take<std::uint64_t>();
  report.filtered = static_cast<FilterReason>(in.take_below<std::uint8_t>(kFilterReasons));
  report.times_filtered = in.take<std::uint32_t>();
  report.times_clipped = in.take<std::uint32_t>();
  return report;
}

void put_figures(const SumFigures& figures, ParcelWriter& out) {
  out.put(figures.sums);
  out.put(figures.abandoned);
  out.put(figures.bytes_up);
  out.put(figures.bytes_down);
  out.put(std::uint64_t{figures.lost.size()});
  for (const LostMember& lost : figures.lost) {
    out.put(lost.client);
    out.put(lost.phase);
  }
}

SumFigures take_figures(ParcelReader& in) {
  SumFigures figures;
  figures.sums = in.take<std::uint32_t>();
  figures.abandoned = in.take<std::uint32_t>();
  figures.bytes_up = in.take<std::uint64_t>();
  figures.bytes_down = in.take<std::uint64_t>();
  figures.lost.resize(in.take_count(kLostBytes));
  for (LostMember& lost : figures.lost) {
    lost.client = in.take<ClientId>();
    lost.phase = in.take_below<SumPhase>(static_cast<std::uint64_t>(SumPhase::kDone));
  }
  return figures;
}

void put_predictions(const Predictions& predictions, ParcelWriter& out) {
  out.put_list<PredictionCount>(predictions.counts);
  out.put_list(std::span<const float>(predictions.negative_scores));
  out.put_list(std::span<const float>(predictions.positive_scores));
}

Predictions take_predictions(ParcelReader& in) {
  Predictions predictions;
  predictions.counts = in.take_list<PredictionCount>();
  predictions.negative_scores = in.take_list<float>();
  predictions.positive_scores = in.take_list<float>();
  return predictions;
}

}  // namespace

void put_dropped(const Dropped& dropped, ParcelWriter& out) {
  out.put(dropped.client);
  out.put(static_cast<std::uint8_t>(dropped.reason));
}

Dropped take_dropped(ParcelReader& in) {
  const auto client = in.take<ClientId>();
  return {client, static_cast<DropReason>(in.take_below<std::uint8_t>(kDropReasons))};
}

void put_update(GroupUpdate update, ParcelWriter& out) {
  out.put(update.group);
  out.put(update.samples);
  out.put(static_cast<std::uint8_t>(update.fell_back));
  out.put(std::uint64_t{update.members.size()});
  for (const MemberReport& report : update.members) put_report(report, out);
  out.put(std::uint64_t{update.dropped.size()});
  for (const Dropped& dropped : update.dropped) put_dropped(dropped, out);
  put_figures(update.secure, out);
  if (update.members.empty()) return;  // it carries no model
  out.put_block(std::move(update.model));
  out.put_block(std::move(update.payload));
}

GroupUpdate take_update(ParcelReader& in, std::size_t most) {
  GroupUpdate update;
  update.group = in.take<GroupId>();
  update.samples = in.take<std::uint64_t>();
  update.fell_back = in.take_flag();
  update.members.resize(in.take_count(kReportBytes));
  for (MemberReport& report : update.members) report = take_report(in);
  update.dropped.resize(in.take_count(kDroppedBytes));
  for (Dropped& dropped : update.dropped) dropped = take_dropped(in);
  update.secure = take_figures(in);
  if (update.members.empty()) return update;
  update.model = in.take_block(most);
  update.payload = in.take_block(most);
  return update;
}

void put_profile(ProfileReply reply, ParcelWriter& out) {
  auto* const told = std::get_if<ClientProfile>(&reply);
  out.put(static_cast<std::uint8_t>(told != nullptr));
  if (!told) return put_dropped(std::get<Dropped>(reply), out);
  out.put_list<std::uint32_t>(told->labels);
  out.put(told->samples_trained);
  out.put(told->samples_evaluated);
  out.put_block(std::move(told->vector));
}

ProfileReply take_profile(ParcelReader& in, std::size_t most) {
  if (!in.take_flag()) return take_dropped(in);
  ClientProfile told;
  told.labels = in.take_list<std::uint32_t>();
  told.samples_trained = in.take<std::uint64_t>();
  told.samples_evaluated = in.take<std::uint64_t>();
  told.vector = in.take_block(most);
  return told;
}

void put_evaluation(const EvaluateReply& reply, ParcelWriter& out) {
  const auto* const told = std::get_if<Evaluation>(&reply);
  out.put(static_cast<std::uint8_t>(told != nullptr));
  if (!told) return put_dropped(std::get<Dropped>(reply), out);
  out.put(told->samples);
  out.put(told->correct);
  out.put(told->loss_sum);
  out.put(static_cast<std::uint8_t>(told->predictions != nullptr));
  if (told->predictions) put_predictions(*told->predictions, out);
}

EvaluateReply take_evaluation(ParcelReader& in) {
  if (!in.take_flag()) return take_dropped(in);
  Evaluation told;
  told.samples = in.take<std::uint64_t>();
  told.correct = in.take<std::uint64_t>();
  told.loss_sum = in.take_double();
  if (in.take_flag()) told.predictions = std::make_shared<const Predictions>(take_predictions(in));
  return told;
}

void put_details(const Details& details, ParcelWriter& out) {
  out.put(static_cast<std::uint8_t>(details.predictions));
  out.put(static_cast<std::uint8_t>(details.scores));
}

Details take_details(ParcelReader& in) {
  const bool predictions = in.take_flag();
  return {.predictions = predictions, .scores = in.take_flag()};
}

void put_error(const Error& error, ParcelWriter& out) {
  out.put(static_cast<std::uint8_t>(error.code));
  out.put_text(error.message);
}

Error take_error(ParcelReader& in) {
  const auto code = static_cast<ErrorCode>(in.take_below<std::uint8_t>(2));
  return {code, in.take_text()};
}

Parcel failed_parcel(const Error& error) {
  ParcelWriter out;
  out.put(Message::kFailed);
  put_error(error, out);
  return std::move(out).finish();
}

}  // namespace muster
