#include "engine/run_recorder.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/stopwatch.h"
#include "record/json_text.h"

namespace muster {

Status RunRecorder::begin(std::uint32_t rounds, std::uint32_t first) {
  MUSTER_ASSIGN(events_, EventWriter::open(folder_.path(), first));
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
    write_events(record);
  }
  progress_.round(record.round, record.accuracy
                                    ? fmt::format("accuracy {:.4f} loss {:.4f}", *record.accuracy, *record.loss)
                                    : fmt::format("train loss {:.4f}", record.train_loss.value_or(NAN)));
  if (options_.on_round) options_.on_round(record.round);
  return {};
}

void RunRecorder::write_events(const RoundRecord& record) {
  // Events are a convenience: losing some to a full disk must not lose the run, which the record's own line would.
  const auto scalar = [&](const char* tag, const std::optional<double>& value) {
    if (value) (void)events_->scalar(record.round, tag, *value);
  };
  scalar("accuracy", record.accuracy);
  scalar("loss", record.loss);
  scalar("client_accuracy", record.client_accuracy);
  scalar("train_loss", record.train_loss);
  scalar("participants", record.participants);
  scalar("cost_s", record.compute_s + record.comm_s);
  if (record.accuracy) (void)events_->flush();
}

Status RunRecorder::amend(const RoundRecord& record, const std::string& line) {
  MUSTER_TRY(folder_.replace_round(record.round, line));
  write_events(record);
  return {};
}

Result<std::string> with_evaluation(const std::string& line, const RoundRecord& record) {
  using Json = nlohmann::ordered_json;
  Json json = Json::parse(line, nullptr, false);
  const Json evaluated = Json::parse(to_json(record), nullptr, false);
  if (!json.is_object()) return failure("the record of round {} is broken", record.round);
  for (const char* field : {"accuracy", "loss", "covered", "client_accuracy", "group_accuracy"}) {
    if (evaluated.contains(field)) json[field] = evaluated[field];
  }
  return json_text(json);
}

}  // namespace muster
