// Parallel group training in which nobody sees what a member sends: every member trains from the group's model, a
// secure sum (secure/sum_server.h) adds up by how much they changed it and what they send besides, and that is repeated
// for some group rounds. A sum for which too few members are left is abandoned, and the model stays as it was.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "secure/sum_server.h"
#include "train/change_words.h"
#include "train/group_trainer.h"
#include "train/private_change.h"

namespace muster {
namespace {

class SecureParallel final : public GroupTrainer {
 public:
  SecureParallel(std::uint32_t group_rounds, const SecureOptions& options, const PrivacyOptions& privacy,
                 bool sums_payload)
      : group_rounds_(group_rounds), options_(options), privacy_(privacy), sums_payload_(sums_payload) {}

  std::uint32_t visits() const override { return group_rounds_; }

  Result<GroupUpdate> train(const RoundCall& call, const GroupTask& task, ClientLink& link,
                            GroupUpdate reuse) const override {
    GroupUpdate result = start_update(task, std::move(reuse));
    const std::span<const float> start = call.models[task.model];
    result.model.assign(start.begin(), start.end());
    result.payload.clear();
    for (std::uint32_t part = 0; part < group_rounds_; ++part) {
      MUSTER_TRY(sum_members(call, task, part, link, result));
    }
    return result;
  }

 private:
  // One sum: what each member said of its training, and why the others said nothing.
  struct Sum {
    SumServer server;
    std::map<ClientId, LocalUpdate> updates = {};
    std::map<ClientId, DropReason> why = {};
  };

  [[nodiscard]] SumLayout layout(const RoundCall& call, std::span<const float> model) const {
    return layout_of_change(options_, model.size(), sums_payload_ ? call.parameters : 0);
  }

  Result<SumTerms> terms_of(const RoundCall& call, const GroupTask& task, std::uint32_t part,
                            std::span<const float> model, const SumHost& host) const {
    SumTerms terms{.run = host.run,
                   .attempt = host.attempt,
                   .round = call.round,
                   .part = part,
                   .group = task.group,
                   .model = digest_of_start(model, call.broadcast),
                   .members = {task.members.begin(), task.members.end()},
                   .words = static_cast<std::uint32_t>(layout(call, model).words())};
    std::ranges::sort(terms.members);
    for (const ClientId client : terms.members) {
      if (host.name_of) terms.names.push_back(host.name_of(client));
    }
    MUSTER_TRY(settle_terms(options_, terms));
    return terms;
  }

  [[nodiscard]] bool hides() const { return options_.hides_samples(); }

  [[nodiscard]] bool fits(const LocalUpdate& update, ClientId client) const {
    return update.client == client && (hides() ? counts_hidden(update) : update.samples > 0) && update.model.empty() &&
           update.payload.empty() && std::isfinite(update.loss) && std::isfinite(update.loss_after.value_or(0));
  }

  // Takes one reply of a phase.
  void take(Sum& sum, const TrainTask& task, SumReply reply) const {
    const SumPhase phase = sum.server.phase();
    if (const auto* const dropped = std::get_if<Dropped>(&reply)) {
      sum.why.emplace(task.client, dropped->reason);
      return;
    }
    auto& answer = std::get<SumAnswer>(reply);
    const bool input = phase == SumPhase::kInput;
    const bool usable = !input || (answer.update && fits(*answer.update, task.client));
    if (!usable || !sum.server.take(task.client, std::move(answer.message))) {
      sum.why.emplace(task.client, DropReason::kMalformed);
    } else if (input) {
      sum.updates.emplace(task.client, std::move(*answer.update));
    }
  }

  // All phases, or those until it is abandoned. Whether there is a sum.
  Result<bool> run(Sum& sum, const std::function<TrainTask(ClientId)>& task_of, ClientLink& link) const {
    while (sum.server.phase() != SumPhase::kDone) {
      std::vector<SumAsk> asks;
      for (const ClientId client : sum.server.asked()) {
        asks.push_back({task_of(client), sum.server.terms().attempt, sum.server.ask(client)});
      }
      MUSTER_TRY(link.sum_each(sum.server.phase(), asks,
                               [&](std::size_t i, SumReply reply) { take(sum, asks[i].task, std::move(reply)); }));
      if (!sum.server.close()) return false;
    }
    return true;
  }

  // Members that hide their samples are reported with equal shares of what they have together, rounded: all that
  // anybody knows of one. By their weights where those are samples: no member can claim more of them than the format
  // has room for, and groups count by it. Who was in an earlier sum of the group keeps its share.
  void share_counts(const DecodedSum& decoded, std::span<const ClientId> summed, const GroupUpdate& before,
                    Sum& sum) const {
    std::uint64_t samples = privacy_.on() ? decoded.counts[0] : decoded.weight;
    std::vector<ClientId> unknown;
    for (const ClientId client : summed) {
      const auto known = std::ranges::find(before.members, client, &MemberReport::client);
      if (known == before.members.end()) {
        unknown.push_back(client);
      } else {
        samples -= std::min<std::uint64_t>(samples, known->samples);
      }
    }
    const auto share = [](std::uint64_t all, std::uint64_t of, std::uint64_t place) {
      return all / of + (place < all % of ? 1 : 0);
    };
    constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max();  // a member may count anything
    for (std::uint64_t i = 0; i < unknown.size(); ++i) {
      sum.updates.at(unknown[i]).samples =
          static_cast<std::uint32_t>(std::clamp(share(samples, unknown.size(), i), std::uint64_t{1}, kMost));
    }
    for (std::uint64_t i = 0; i < summed.size(); ++i) {
      sum.updates.at(summed[i]).samples_trained = share(decoded.counts[1], summed.size(), i);
    }
  }

  static void record_figures(const Sum& sum, SumFigures& figures) {
    figures.bytes_up += sum.server.bytes_up();
    figures.bytes_down += sum.server.bytes_down();
    for (const ClientId client : sum.server.terms().members) {
      const std::optional<SumPhase> phase = sum.server.lost_in(client);
      if (!phase || std::ranges::find(figures.lost, client, &LostMember::client) != figures.lost.end()) continue;
      figures.lost.push_back({client, *phase});
    }
  }

  Status sum_members(const RoundCall& call, const GroupTask& task, std::uint32_t part, ClientLink& link,
                     GroupUpdate& result) const {
    const SumHost host = link.sum_host();
    if (!host.verifier)
      return failure("aggregation.in-group: \"secure-sum\", which is not known where the members are");
    MUSTER_ASSIGN(const SumTerms terms, terms_of(call, task, part, result.model, host));
    ++result.secure.sums;
    const auto members = static_cast<std::uint32_t>(terms.members.size());
    if (members < 2) {  // a sum of one is that one's
      ++result.secure.abandoned;
      for (const ClientId client : terms.members) record_drop({client, DropReason::kAbandoned}, result);
      return {};
    }
    Sum sum{.server = SumServer(terms, *host.verifier)};
    const auto task_of = [&](ClientId client) { return train_task(call, task, client, result.model, part); };
    MUSTER_ASSIGN(bool opened, run(sum, task_of, link));
    record_figures(sum, result.secure);
    std::vector<ClientId> summed;
    if (opened) {
      const Result<DecodedSum> decoded =
          decode_sum(terms.format, sum.server.sum(), layout(call, result.model), members);
      opened = decoded.ok();
      if (opened) {
        const double unit = privacy_.on() ? 1 / private_scale(privacy_, terms.threshold) : 1;
        for (std::size_t i = 0; i < result.model.size(); ++i) {
          result.model[i] = static_cast<float>(static_cast<double>(result.model[i]) + unit * decoded->mean[i]);
        }
        add_payload(std::vector<float>(decoded->values.begin(), decoded->values.end()), result.payload);
        summed = sum.server.summed();
        if (hides()) share_counts(*decoded, summed, result, sum);
      }
    }
    if (!opened) ++result.secure.abandoned;
    for (const ClientId client : terms.members) {
      if (std::ranges::binary_search(summed, client)) {
        record_member(sum.updates.at(client), result);
        continue;
      }
      const auto why = sum.why.find(client);
      record_drop({client, why == sum.why.end() ? DropReason::kAbandoned : why->second}, result);
    }
    return {};
  }

  std::uint32_t group_rounds_;
  SecureOptions options_;
  PrivacyOptions privacy_;
  bool sums_payload_;
};

}  // namespace

std::unique_ptr<GroupTrainer> make_secure_parallel(std::uint32_t group_rounds, const SecureOptions& options,
                                                   const PrivacyOptions& privacy, bool sums_payload) {
  return std::make_unique<SecureParallel>(group_rounds, options, privacy, sums_payload);
}

}  // namespace muster
