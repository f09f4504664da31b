#include "engine/run_recorder.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/stopwatch.h"
#include "grouping/group_picture.h"
#include "record/json_text.h"

namespace muster {
namespace {

constexpr std::size_t kShownGroups = 64;  // more curves nobody tells apart

// What progress says of a round: how good it is, and its groups where clients are grouped at all.
std::string shown(const RoundRecord& record) {
  std::string text = record.accuracy ? fmt::format("accuracy {:.4f} loss {:.4f}", *record.accuracy, *record.loss)
                                     : fmt::format("train loss {:.4f}", record.train_loss.value_or(NAN));
  if (record.attack_success) text += fmt::format(" attack {:.4f}", *record.attack_success);
  if (record.groups_formed > 1 && record.group_size_max > 1) {
    text += fmt::format("  {} of {} groups", record.groups, record.groups_formed);
    if (record.models > 1) text += fmt::format(", {} models", record.models);
  }
  if (record.secure && record.secure->abandoned > 0) {
    text += fmt::format("  {} of {} sums abandoned", record.secure->abandoned, record.secure->sums);
  }
  if (record.idle > 0) text += fmt::format("  {} idle", record.idle);
  return text;
}

}  // namespace

Status RunRecorder::begin(std::uint32_t rounds, std::uint32_t first, const std::map<std::string, std::string>& keys) {
  MUSTER_ASSIGN(events_, EventWriter::open(folder_.path(), first));
  if (!keys.empty()) (void)events_->begin_session(keys);
  progress_.begin_rounds(rounds, first);
  return {};
}

void RunRecorder::say(const std::string& note) {
  if (!options_.say || !said_.insert(note).second) return;
  progress_.make_room();
  options_.say(note);
}

void RunRecorder::phase(std::string_view what, std::size_t done, std::size_t total) {
  progress_.phase(what, done, total, "clients");
}

void RunRecorder::training(std::size_t groups_done, std::size_t groups) {
  if (groups_done == 0) progress_.begin_training();
  progress_.phase("training", groups_done, groups, "groups");
}

Status RunRecorder::round(const RoundRecord& record) {
  {
    const Stopwatch watch(options_.times ? &options_.times->records_s : nullptr);
    while (!groupings_.empty() && groupings_.front().first <= record.round) {
      MUSTER_TRY(folder_.append_grouping(groupings_.front().second));
      groupings_.erase(groupings_.begin());
    }
    MUSTER_TRY(folder_.append_round(record));
    write_picture(false);
    write_training_events(record);
    write_evaluation_events(record);
  }
  progress_.round(record.round, shown(record));
  if (options_.on_record) options_.on_record(record);
  if (options_.on_round) options_.on_round(record.round);
  return {};
}

// Events are a convenience: losing some to a full disk must not lose the run, which the record's own line would.
void RunRecorder::scalar(const RoundRecord& record, const std::string& tag, const std::optional<double>& value) {
  if (value) (void)events_->scalar(record.round, tag, *value);
}

void RunRecorder::write_training_events(const RoundRecord& record) {
  scalar(record, "train_loss", record.train_loss);
  scalar(record, "loss_variance", record.loss_variance);
  if (record.epochs) scalar(record, "epochs_mean", record.epochs->mean);
  scalar(record, "participants", record.participants);
  scalar(record, "epsilon", record.epsilon);
  if (record.merge) scalar(record, "filtered", static_cast<double>(record.merge->filtered.size()));
  scalar(record, "groups", record.groups_formed);
  scalar(record, "idle", record.idle);
  scalar(record, "models", record.models);
  scalar(record, "cost_s", record.compute_s + record.comm_s);
  scalar(record, "cost_total_s", record.cost_total_s);
  scalar(record, "bytes_total", static_cast<double>(record.bytes_total));
}

void RunRecorder::write_evaluation_events(const RoundRecord& record) {
  scalar(record, "accuracy", record.accuracy);
  scalar(record, "loss", record.loss);
  scalar(record, "client_accuracy", record.client_accuracy);
  scalar(record, "attack_success", record.attack_success);
  scalar(record, "macro_f1", record.metrics.macro_f1);
  scalar(record, "auc", record.metrics.auc);
  scalar(record, "validation_accuracy", record.validation_accuracy);
  scalar(record, "validation_loss", record.validation_loss);
  if (record.client_spread) {
    scalar(record, "client_worst", record.client_spread->worst);
    scalar(record, "client_p10", record.client_spread->p10);
    scalar(record, "client_p50", record.client_spread->p50);
    scalar(record, "client_p90", record.client_spread->p90);
  }
  const std::size_t shown = std::min(record.group_accuracy.size(), kShownGroups);
  for (std::size_t g = 0; g < shown; ++g) {
    if (std::isnan(record.group_accuracy[g])) continue;
    scalar(record, fmt::format("group_accuracy/{}", g), record.group_accuracy[g]);
  }
  if (record.accuracy) (void)events_->flush();
}

bool RunRecorder::wants_picture() {
  const std::uint64_t formed = ++formed_;
  return events_ && std::has_single_bit(formed) && std::countr_zero(formed) % 2 == 0;
}

void RunRecorder::add_picture(std::uint32_t round, Rows<std::uint64_t> counts) {
  write_picture(true);
  picture_round_ = round;
  picture_ = std::async(std::launch::async, [round, counts = std::move(counts)] {
    const GroupPanel panel{.title = fmt::format("{} groups, round {}", counts.count(), round), .counts = counts};
    return to_png(draw_groups(std::span(&panel, 1)));
  });
}

void RunRecorder::write_picture(bool wait) {
  if (!picture_.valid()) return;
  if (!wait && picture_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return;
  const Result<std::string> png = picture_.get();
  if (png) (void)events_->image(picture_round_, "groups", *png);
}

void RunRecorder::finish(bool over) {
  progress_.finish();
  if (!events_) return;
  write_picture(true);
  if (over) (void)events_->end_session();
  (void)events_->flush();
}

Status RunRecorder::amend(const RoundRecord& record, const std::string& line) {
  MUSTER_TRY(folder_.replace_round(record.round, line));
  write_evaluation_events(record);
  return {};
}

Result<std::string> with_evaluation(const std::string& line, const RoundRecord& record) {
  nlohmann::ordered_json json = nlohmann::ordered_json::parse(line, nullptr, false);
  const nlohmann::ordered_json evaluated = nlohmann::ordered_json::parse(to_json(record), nullptr, false);
  if (!json.is_object()) return failure("the record of round {} is broken", record.round);
  // What only an evaluation enters is there where there was one; accuracy and loss are always there, at least as null.
  for (const auto& [field, value] : evaluated.items()) {
    const bool known = json.contains(field) && field != "accuracy" && field != "loss" && field != "attack_success";
    if (!known) json[field] = value;
  }
  return json_text(json);
}

}  // namespace muster
