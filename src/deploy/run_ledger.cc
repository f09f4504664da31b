#include "deploy/run_ledger.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "base/file.h"
#include "base/hash.h"
#include "record/json_text.h"

namespace muster {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::uint64_t kMostUnasked = 100'000;  // lines of an incarnation that peers cause by themselves

Json ids_of(std::span<const ClientId> clients) {
  Json ids = Json::array();
  for (const ClientId client : clients) ids.push_back(client.value);
  return ids;
}

std::string hash_of(std::span<const float> values) {
  return hex16(hash_bytes(values.data(), values.size_bytes()));
}

std::string_view kind_of(const v1::Ask& ask) {
  switch (ask.work_case()) {
    case v1::Ask::kTrain:
      return ask.train().chain().open() ? "open" : "train";
    case v1::Ask::kProfile:
      return "profile";
    case v1::Ask::kEvaluate:
      return "evaluate";
    case v1::Ask::kGroup:
      return "group";
    case v1::Ask::kSum:
      return "sum";
    case v1::Ask::kChainKey:
      return "chain-key";
    case v1::Ask::WORK_NOT_SET:
      break;
  }
  return "";
}

// What a task is known by.
void add_task(Json& line, const v1::TaskId& id) {
  line["round"] = id.round();
  line["group"] = id.group();
  line["client"] = id.client();
  line["part"] = id.part();
}

void add_members(Json& line, std::span<const MemberReport> members, std::span<const Dropped> dropped) {
  line["members"] = Json::array();
  for (const MemberReport& one : members) {
    line["members"].push_back({{"client", one.client.value}, {"samples", one.samples}});
  }
  line["dropped"] = Json::array();
  for (const Dropped& one : dropped) {
    line["dropped"].push_back({{"client", one.client.value}, {"reason", name(one.reason)}});
  }
}

// Of the model that all share, or of those of the groups, one after the other. "" where clients keep them.
std::string hash_of(const Models& models) {
  if (models.in_clients()) return "";
  if (!models.per_group()) return hash_of(models.shared());
  Hasher hasher;
  for (std::uint32_t g = 0; g < models.count(); ++g) hasher.add(models.of(GroupId{g}));
  return hex16(hasher.digest());
}

}  // namespace

Status RunLedger::begin(const std::filesystem::path& folder, const v1::Welcome& welcome, const Recipe& recipe,
                        std::uint32_t clients) {
  if (!options_.vectors.empty()) MUSTER_TRY(make_folder(options_.vectors));
  MUSTER_ASSIGN(LedgerFile file, LedgerFile::open(folder / "ledger.jsonl"));
  {
    const std::lock_guard lock(mutex_);
    file_.emplace(std::move(file));
    incarnation_ = welcome.incarnation();
    const AggregationEntry* const kept = find_aggregation(recipe.aggregation.global);
    shared_model_ = kept && kept->models == ModelKeeping::kShared;
  }
  write(json_text(Json{{"event", "start"},
                       {"run", welcome.run()},
                       {"incarnation", welcome.incarnation()},
                       {"clients", clients},
                       {"training", recipe.training.mode},
                       {"relay", recipe.training.relay},
                       {"group_rounds", recipe.training.group_rounds},
                       {"in_group", recipe.aggregation.in_group},
                       {"global", recipe.aggregation.global},
                       {"private", recipe.dp.on()},
                       {"samples", recipe.training.secure.hides_samples() ? kHiddenSamples : kToldSamples},
                       {"quorum", recipe.deployment.quorum}}),
        Written::kNow);
  return {};
}

void RunLedger::end_run(const RunSummary& summary) {
  tell_from();
  tell_saved();
  write(json_text(Json{{"event", "end"},
                       {"rounds", summary.rounds},
                       {"stopped", name(summary.stopped)},
                       {"signature", summary.signature}}),
        Written::kNow);
}

void RunLedger::check(const Status& written) const {
  if (written.ok()) return;
  file_.reset();
  if (options_.say) options_.say(written.error().message + "; the ledger ends here, the run goes on");
}

void RunLedger::write(const std::string& line, Written when) {
  const std::lock_guard lock(mutex_);
  if (!file_) return;
  file_->add(line);
  if (when == Written::kNow) check(file_->put_down());
}

bool RunLedger::too_many() {
  const std::lock_guard lock(mutex_);
  return ++unasked_ > kMostUnasked;
}

void RunLedger::keep(const std::string& name, std::span<const float> values) {
  if (options_.vectors.empty() || values.empty()) return;
  const std::string_view bytes(reinterpret_cast<const char*>(values.data()), values.size_bytes());
  const Status written = write_file(options_.vectors / name, bytes);
  if (!written && options_.say) options_.say(written.error().message);
}

void RunLedger::came(const std::string& peer, bool edge, std::span<const ClientId> clients) {
  if (clients.empty() || too_many()) return;
  write(json_text(Json{{"event", "came"}, {"peer", peer}, {"edge", edge}, {"clients", ids_of(clients)}}),
        Written::kSoon);
}

void RunLedger::went(const std::string& peer, std::span<const ClientId> clients) {
  if (too_many()) return;
  write(json_text(Json{{"event", "went"}, {"peer", peer}, {"clients", ids_of(clients)}}), Written::kSoon);
}

void RunLedger::asked(const v1::Ask& ask) {
  tell_from();
  Json line{{"event", "ask"}, {"number", ask.id().number()}, {"kind", kind_of(ask)}};
  add_task(line, ask.id());
  if (ask.has_group()) line["asked"] = ask.group().members();
  if (ask.has_sum()) line["phase"] = name(static_cast<SumPhase>(ask.sum().phase()));
  write(json_text(line), Written::kSoon);
}

void RunLedger::answered(const v1::Ask& ask, const v1::TaskId& reply, const TaskAnswer& answer) {
  const bool trained = kind_of(ask) == "train" || ask.has_group();
  Json line{{"event", "answer"}, {"number", reply.number()}, {"incarnation", reply.incarnation()}};
  add_task(line, reply);
  line["used"] = answer.used;
  if (!answer.used) line["reason"] = answer.reason;
  if (answer.used && answer.samples > 0 && ask.has_sum()) line["samples"] = answer.samples;  // nobody sees its model
  if (answer.used && trained) {
    line["samples"] = answer.samples;
    if (!answer.model.empty()) line["model"] = hash_of(answer.model);
    if (!answer.payload.empty()) line["payload"] = hash_of(answer.payload);
    keep(fmt::format("{}-{}.f32", reply.incarnation(), reply.number()), answer.model);
  }
  if (ask.has_group()) add_members(line, answer.members, answer.dropped);
  write(json_text(line), Written::kNow);
}

void RunLedger::missed(const v1::Ask& ask, std::string_view reason) {
  write(json_text(Json{{"event", "missed"}, {"number", ask.id().number()}, {"reason", reason}}), Written::kSoon);
}

void RunLedger::refused(const std::string& peer, const v1::TaskId& reply, std::string_view reason) {
  if (too_many()) return;
  Json line{{"event", "refused"}, {"peer", peer}, {"number", reply.number()}, {"incarnation", reply.incarnation()}};
  add_task(line, reply);
  line["reason"] = reason;
  write(json_text(line), Written::kSoon);
}

void RunLedger::tell_from() {
  const std::lock_guard lock(mutex_);
  if (!file_ || std::exchange(from_told_, true)) return;
  Json line{{"event", "from"}, {"round", from_}};
  if (!from_model_.empty()) line["model"] = from_model_;
  file_->add(json_text(line));
}

void RunLedger::tell_saved() {
  if (!saved_) return;
  write(json_text(Json{{"event", "checkpoint"}, {"round", *saved_}}), Written::kNow);
  saved_.reset();
}

void RunLedger::prepare(RoundTasks& tasks) {
  tell_from();
  tell_saved();
  round_ = tasks.round;
}

void RunLedger::group(const GroupUpdate& update) {
  Json line{{"event", "merged"}, {"round", round_}, {"group", update.group.value}};
  add_members(line, update.members, update.dropped);
  if (!update.members.empty()) {
    line["samples"] = update.samples;
    line["importance"] = update.importance;
    if (!update.model.empty()) line["model"] = hash_of(update.model);
    // Nobody has what its members sent: what is kept is what they add up to.
    if (update.secure.sums > 0) {
      keep(fmt::format("{}-round-{}-group-{}.f32", incarnation_, round_, update.group.value), update.model);
    }
  }
  write(json_text(line), Written::kSoon);
}

void RunLedger::end(const Models& models, RoundRecord& record) {
  if (!models.in_clients() && !models.per_group()) {
    keep(fmt::format("{}-round-{}.f32", incarnation_, record.round), models.shared());
  }
  write(json_text(Json{{"event", "round"},
                       {"round", record.round},
                       {"participants", record.participants},
                       {"model", hash_of(models)}}),
        Written::kNow);
}

void RunLedger::save(Checkpoint& checkpoint) const {
  saved_ = checkpoint.round;
  const std::lock_guard lock(mutex_);
  if (file_) check(file_->sync());
}

// Only a model that all share is in the checkpoint as the ledger has it.
Status RunLedger::restore(const Checkpoint& checkpoint) {
  const std::lock_guard lock(mutex_);
  from_ = checkpoint.round;
  const auto model = checkpoint.sections.find("model");
  const bool shared = model != checkpoint.sections.end() && shared_model_;
  from_model_ = shared ? hex16(hash_bytes(model->second.data(), model->second.size())) : "";
  return {};
}

}  // namespace muster
