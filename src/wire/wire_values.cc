#include "wire/wire_values.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "data/shown_text.h"
#include "train/update_check.h"

namespace muster {
namespace {

constexpr auto kSumPhases = static_cast<std::uint32_t>(SumPhase::kDone);

constexpr std::array kReasons{
    std::pair{DropReason::kFault, v1::DROP_REASON_FAULT},
    std::pair{DropReason::kStraggler, v1::DROP_REASON_STRAGGLER},
    std::pair{DropReason::kNoSamples, v1::DROP_REASON_NO_SAMPLES},
    std::pair{DropReason::kNonFinite, v1::DROP_REASON_NON_FINITE},
    std::pair{DropReason::kUnreachable, v1::DROP_REASON_UNREACHABLE},
    std::pair{DropReason::kMalformed, v1::DROP_REASON_MALFORMED},
    std::pair{DropReason::kNotNeeded, v1::DROP_REASON_NOT_NEEDED},
    std::pair{DropReason::kAbandoned, v1::DROP_REASON_ABANDONED},
    std::pair{DropReason::kRefused, v1::DROP_REASON_REFUSED},
};

void put(const Dropped& dropped, v1::Dropped& out) {
  out.set_client(dropped.client.value);
  for (const auto& [reason, sent] : kReasons) {
    if (reason == dropped.reason) out.set_reason(sent);
  }
}

DropReason take(v1::DropReason in) {
  for (const auto& [reason, sent] : kReasons) {
    if (sent == in) return reason;
  }
  return DropReason::kMalformed;
}

void put(StateVersion version, v1::StateVersion& out) {
  out.set_round(version.round);
  out.set_part(version.part);
}

StateVersion take(const v1::StateVersion& in) {
  return {in.round(), in.part()};
}

// The vector's number; 0 of an empty one, which does not travel.
std::uint64_t add(std::vector<float> values, VectorNumbers& numbers, OutgoingReply& out) {
  if (values.empty()) return 0;
  out.vectors.push_back(numbers.make(std::move(values)));
  return out.vectors.back()->number;
}

// False if it is named and not there.
bool take(std::uint64_t number, ChunkReader& vectors, std::vector<float>& values) {
  if (number == 0) return true;
  std::optional<std::vector<float>> came = vectors.take(number);
  if (came) values = std::move(*came);
  return came.has_value();
}

constexpr std::size_t kMostNameBytes = 64;  // as in certificates

template <std::size_t kSize>
bool take(const std::string& in, std::array<std::uint8_t, kSize>& out) {
  if (in.size() != kSize) return false;
  std::ranges::copy(in, out.begin());
  return true;
}

void put(const ChainKey& key, v1::ChainKey& out) {
  out.set_client(key.client.value);
  out.set_name(key.name);
  out.set_key(key.key.data(), key.key.size());
  out.set_credential(key.credential);
  out.set_signature(key.signature);
}

bool take(const v1::ChainKey& in, ChainKey& key) {
  if (in.credential().size() > kMostCredentialBytes || in.signature().size() > kMostSignatureBytes ||
      in.name().size() > kMostNameBytes) {
    return false;
  }
  key.client = {in.client()};
  key.name = in.name();
  key.credential = in.credential();
  key.signature = in.signature();
  return take(in.key(), key.key);
}

void put(const SealedHead& head, v1::SealedHead& out) {
  out.set_sender(head.sender.value);
  out.set_part(head.part);
  out.set_salt(head.salt.data(), head.salt.size());
  for (const WrappedKey& key : head.keys) {
    v1::WrappedKey& one = *out.add_keys();
    one.set_reader(key.reader.value);
    one.set_key(key.bytes.data(), key.bytes.size());
  }
}

bool take(const v1::SealedHead& in, SealedHead& head) {
  if (in.keys_size() > static_cast<int>(kMostReaders) + 1) return false;
  head.sender = {in.sender()};
  head.part = in.part();
  for (const v1::WrappedKey& one : in.keys()) {
    head.keys.push_back({.reader = {one.reader()}});
    if (!take(one.key(), head.keys.back().bytes)) return false;
  }
  return take(in.salt(), head.salt);
}

// Why there is no answer of the wanted kind.
Dropped without_answer(const v1::Reply& in, ClientId client) {
  return {client, in.has_dropped() ? take(in.dropped().reason()) : DropReason::kMalformed};
}

void put_trained(LocalUpdate update, bool remembers, VectorNumbers& numbers, OutgoingReply& out, v1::Trained& trained) {
  trained.set_model(add(std::move(update.model), numbers, out));
  trained.set_payload(add(std::move(update.payload), numbers, out));
  trained.set_samples(update.samples);
  trained.set_steps(update.steps);
  trained.set_samples_trained(update.samples_trained);
  trained.set_loss(update.loss);
  if (update.loss_after) trained.set_loss_after(*update.loss_after);
  trained.set_remembers(remembers);
  trained.set_own_model(update.own_model);
}

// Nothing if it names vectors that are not there.
std::optional<LocalUpdate> take_trained(const v1::Trained& trained, ClientId client, ChunkReader& vectors) {
  LocalUpdate update{.client = client,
                     .samples = trained.samples(),
                     .steps = trained.steps(),
                     .samples_trained = trained.samples_trained(),
                     .loss = trained.loss()};
  if (trained.has_loss_after()) update.loss_after = trained.loss_after();
  update.own_model = trained.own_model();
  if (!take(trained.model(), vectors, update.model) || !take(trained.payload(), vectors, update.payload)) {
    return std::nullopt;
  }
  return update;
}

void put(const SumFigures& figures, v1::SumFigures& out) {
  out.set_sums(figures.sums);
  out.set_abandoned(figures.abandoned);
  out.set_bytes_up(figures.bytes_up);
  out.set_bytes_down(figures.bytes_down);
  for (const LostMember& lost : figures.lost) {
    v1::LostMember& one = *out.add_lost();
    one.set_client(lost.client.value);
    one.set_phase(static_cast<std::uint32_t>(lost.phase));
  }
}

SumFigures take(const v1::SumFigures& in) {
  SumFigures figures{.sums = in.sums(),
                     .abandoned = in.abandoned(),
                     .lost = {},
                     .bytes_up = in.bytes_up(),
                     .bytes_down = in.bytes_down()};
  for (const v1::LostMember& one : in.lost()) {
    figures.lost.push_back({{one.client()}, static_cast<SumPhase>(std::min(one.phase(), kSumPhases))});
  }
  return figures;
}

}  // namespace

std::shared_ptr<const WireVector> VectorNumbers::make(std::vector<float> values) {
  return std::make_shared<const WireVector>(WireVector{++last_, std::move(values)});
}

void put(const Memory& memory, v1::Memory& out) {
  put(memory.basis, *out.mutable_basis());
  for (const StateVersion version : memory.keep) put(version, *out.add_keep());
}

Memory take_memory(const v1::Memory& in) {
  Memory memory{.basis = take(in.basis())};
  for (const v1::StateVersion& version : in.keep()) memory.keep.push_back(take(version));
  return memory;
}

std::string to_text(const v1::TaskId& id) {
  return fmt::format("round {}, group {}, client {}, part {}", id.round(), id.group(), id.client(), id.part());
}

std::string told_text(std::string_view text) {
  constexpr std::size_t kLongest = 400;
  return shown_text(text.substr(0, kLongest)) + (text.size() > kLongest ? "..." : "");
}

std::vector<float> values_of_bytes(std::span<const std::byte> bytes) {
  std::vector<float> values((bytes.size() + sizeof(float) - 1) / sizeof(float));
  if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

std::optional<std::vector<std::byte>> bytes_of_values(std::span<const float> values, std::uint64_t size) {
  const std::span<const std::byte> all = std::as_bytes(values);
  if (size > all.size() || all.size() - size >= sizeof(float)) return std::nullopt;
  return std::vector<std::byte>(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(size));
}

void put_answer(TrainAnswer answer, VectorNumbers& numbers, OutgoingReply& out) {
  auto* const update = std::get_if<LocalUpdate>(&answer.reply);
  if (!update) return put(std::get<Dropped>(answer.reply), *out.reply.mutable_dropped());
  put_trained(std::move(*update), answer.remembers, numbers, out, *out.reply.mutable_trained());
  if (answer.sealed) put(*answer.sealed, *out.reply.mutable_trained()->mutable_sealed());
}

TrainAnswer take_train_answer(const v1::Reply& in, ClientId client, ChunkReader& vectors) {
  if (!in.has_trained()) return {without_answer(in, client)};
  std::optional<LocalUpdate> update = take_trained(in.trained(), client, vectors);
  if (!update) return {Dropped{client, DropReason::kMalformed}};
  TrainAnswer answer{std::move(*update), in.trained().remembers()};
  if (in.trained().has_sealed() && !take(in.trained().sealed(), answer.sealed.emplace())) {
    return {Dropped{client, DropReason::kMalformed}};
  }
  return answer;
}

void put_answer(SummedAnswer answer, VectorNumbers& numbers, OutgoingReply& out) {
  auto* const said = std::get_if<SumAnswer>(&answer.reply);
  if (!said) return put(std::get<Dropped>(answer.reply), *out.reply.mutable_dropped());
  v1::Summed& summed = *out.reply.mutable_summed();
  summed.mutable_said()->set_size(said->message.size());
  summed.mutable_said()->set_vector(add(values_of_bytes(said->message), numbers, out));
  if (said->update) {
    said->update->model.clear();  // it stays here
    put_trained(std::move(*said->update), answer.remembers, numbers, out, *summed.mutable_trained());
  }
}

SummedAnswer take_summed_answer(const v1::Reply& in, ClientId client, ChunkReader& vectors) {
  if (!in.has_summed()) return {without_answer(in, client)};
  const v1::Summed& summed = in.summed();
  std::vector<float> values;
  if (!take(summed.said().vector(), vectors, values)) return {Dropped{client, DropReason::kMalformed}};
  std::optional<std::vector<std::byte>> message = bytes_of_values(values, summed.said().size());
  SumAnswer answer;
  if (summed.has_trained() && message) {
    answer.update = take_trained(summed.trained(), client, vectors);
    if (!answer.update) return {Dropped{client, DropReason::kMalformed}};
  }
  if (!message) return {Dropped{client, DropReason::kMalformed}};
  answer.message = std::move(*message);
  return {std::move(answer), summed.trained().remembers()};
}

void put_answer(ChainKeyReply reply, OutgoingReply& out) {
  const auto* const key = std::get_if<ChainKey>(&reply);
  if (!key) return put(std::get<Dropped>(reply), *out.reply.mutable_dropped());
  put(*key, *out.reply.mutable_chain_key());
}

ChainKeyReply take_chain_key_answer(const v1::Reply& in, ClientId client) {
  ChainKey key;
  if (!in.has_chain_key()) return without_answer(in, client);
  if (!take(in.chain_key(), key) || key.client != client) return Dropped{client, DropReason::kMalformed};
  return key;
}

void put(const ChainVisit& visit, v1::ChainVisit& out) {
  for (const ChainKey& reader : visit.readers) put(reader, *out.add_readers());
  if (visit.from) put(*visit.from, *out.mutable_from());
  if (visit.sender) put(*visit.sender, *out.mutable_sender());
  out.set_open(visit.open);
}

std::optional<ChainVisit> take_chain_visit(const v1::ChainVisit& in) {
  ChainVisit visit{.open = in.open()};
  if (in.readers_size() > static_cast<int>(kMostReaders) || in.has_from() != in.has_sender()) return std::nullopt;
  for (const v1::ChainKey& reader : in.readers()) {
    if (!take(reader, visit.readers.emplace_back())) return std::nullopt;
  }
  if (in.has_from() && !take(in.from(), visit.from.emplace())) return std::nullopt;
  if (in.has_sender() && !take(in.sender(), visit.sender.emplace())) return std::nullopt;
  if (visit.open && (!visit.from || !visit.readers.empty())) return std::nullopt;
  return visit;
}

void put_answer(ProfileReply reply, VectorNumbers& numbers, OutgoingReply& out) {
  auto* const profile = std::get_if<ClientProfile>(&reply);
  if (!profile) return put(std::get<Dropped>(reply), *out.reply.mutable_dropped());
  v1::Told& told = *out.reply.mutable_told();
  told.mutable_labels()->Assign(profile->labels.begin(), profile->labels.end());
  told.set_vector(add(std::move(profile->vector), numbers, out));
  told.set_samples_trained(profile->samples_trained);
  told.set_samples_evaluated(profile->samples_evaluated);
}

ProfileReply take_profile_answer(const v1::Reply& in, ClientId client, ChunkReader& vectors) {
  if (!in.has_told()) return without_answer(in, client);
  const v1::Told& told = in.told();
  ClientProfile profile{.labels = {told.labels().begin(), told.labels().end()},
                        .samples_trained = told.samples_trained(),
                        .samples_evaluated = told.samples_evaluated()};
  if (!take(told.vector(), vectors, profile.vector)) return Dropped{client, DropReason::kMalformed};
  return profile;
}

void put_answer(EvaluateReply reply, VectorNumbers& numbers, OutgoingReply& out) {
  const auto* const evaluation = std::get_if<Evaluation>(&reply);
  if (!evaluation) return put(std::get<Dropped>(reply), *out.reply.mutable_dropped());
  v1::Evaluated& evaluated = *out.reply.mutable_evaluated();
  evaluated.set_samples(evaluation->samples);
  evaluated.set_correct(evaluation->correct);
  evaluated.set_loss_sum(evaluation->loss_sum);
  if (!evaluation->predictions) return;
  const Predictions& predictions = *evaluation->predictions;
  evaluated.set_with_predictions(true);
  for (const PredictionCount& count : predictions.counts) {
    v1::PredictionCount& one = *evaluated.add_counts();
    one.set_label(count.label);
    one.set_predicted(count.predicted);
    one.set_samples(count.samples);
  }
  evaluated.set_negative_scores(add(predictions.negative_scores, numbers, out));
  evaluated.set_positive_scores(add(predictions.positive_scores, numbers, out));
}

EvaluateReply take_evaluate_answer(const v1::Reply& in, ClientId client, ChunkReader& vectors) {
  if (!in.has_evaluated()) return without_answer(in, client);
  const v1::Evaluated& evaluated = in.evaluated();
  Evaluation evaluation{
      .samples = evaluated.samples(), .correct = evaluated.correct(), .loss_sum = evaluated.loss_sum()};
  if (!evaluated.with_predictions()) return evaluation;
  Predictions predictions;
  for (const v1::PredictionCount& one : evaluated.counts()) {
    predictions.counts.push_back({one.label(), one.predicted(), one.samples()});
  }
  if (!take(evaluated.negative_scores(), vectors, predictions.negative_scores) ||
      !take(evaluated.positive_scores(), vectors, predictions.positive_scores)) {
    return Dropped{client, DropReason::kMalformed};
  }
  evaluation.predictions = std::make_shared<const Predictions>(std::move(predictions));
  return evaluation;
}

void put_answer(GroupAnswer answer, VectorNumbers& numbers, OutgoingReply& out) {
  GroupUpdate& update = answer.update;
  v1::GroupTrained& trained = *out.reply.mutable_group();
  trained.set_samples(update.samples);
  trained.set_fell_back(update.fell_back);
  for (std::size_t i = 0; i < update.members.size(); ++i) {
    const MemberReport& report = update.members[i];
    v1::MemberReport& one = *trained.add_members();
    one.set_client(report.client.value);
    one.set_samples(report.samples);
    one.set_steps(report.steps);
    one.set_samples_trained(report.samples_trained);
    one.set_loss(report.loss);
    if (report.loss_after) one.set_loss_after(*report.loss_after);
    one.set_visits(report.visits);
    one.set_own_model(report.own_model);
    one.set_filtered(static_cast<std::uint32_t>(report.filtered));
    one.set_times_filtered(report.times_filtered);
    one.set_times_clipped(report.times_clipped);
    put(answer.bases[i], *one.mutable_basis());
  }
  for (std::size_t i = 0; i < update.dropped.size(); ++i) {
    put(update.dropped[i], *trained.add_dropped());
    if (i < answer.dropped_bases.size())
      put(answer.dropped_bases[i], *trained.mutable_dropped()->rbegin()->mutable_basis());
  }
  if (update.secure.sums > 0) put(update.secure, *trained.mutable_secure());
  if (update.members.empty()) return;  // it carries no model
  trained.set_model(add(std::move(update.model), numbers, out));
  trained.set_payload(add(std::move(update.payload), numbers, out));
}

GroupAnswer take_group_answer(const v1::Reply& in, GroupId group, std::span<const ClientId> members,
                              ChunkReader& vectors) {
  GroupAnswer answer;
  answer.update.group = group;
  const auto drop = [&](DropReason reason) {
    GroupAnswer dropped;
    drop_all(group, members, reason, dropped.update);
    return dropped;
  };
  if (!in.has_group()) return drop(without_answer(in, members[0]).reason);
  const v1::GroupTrained& trained = in.group();
  answer.update.samples = trained.samples();
  answer.update.fell_back = trained.fell_back();
  answer.update.secure = take(trained.secure());
  for (const v1::MemberReport& one : trained.members()) {
    answer.update.members.push_back(
        {.client = {one.client()},
         .samples = one.samples(),
         .steps = one.steps(),
         .samples_trained = one.samples_trained(),
         .loss = one.loss(),
         .loss_after = one.has_loss_after() ? std::optional(one.loss_after()) : std::nullopt,
         .visits = one.visits(),
         .own_model = one.own_model(),
         .filtered = one.filtered() < kFilterReasons ? static_cast<FilterReason>(one.filtered()) : FilterReason::kNone,
         .times_filtered = one.times_filtered(),
         .times_clipped = one.times_clipped()});
    answer.bases.push_back(take(one.basis()));
  }
  for (const v1::Dropped& one : trained.dropped()) {
    answer.update.dropped.push_back({{one.client()}, take(one.reason())});
    answer.dropped_bases.push_back(take(one.basis()));
  }
  if (!take(trained.model(), vectors, answer.update.model) ||
      !take(trained.payload(), vectors, answer.update.payload)) {
    return drop(DropReason::kMalformed);
  }
  return answer;
}

}  // namespace muster
