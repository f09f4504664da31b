// Profiles: a unit is a client that trains for its profile, or a few that only count.
#include <algorithm>
#include <array>

#include "ranks/rank_call.h"
#include "ranks/travelling_state.h"

namespace muster {
namespace {

constexpr std::array kSlots{kPersonalSlot};
constexpr std::size_t kClientsThatCount = 16;

const ProfileKind& kind_of(const LocalFederation& federation, bool losses) {
  return losses ? losses_profile() : federation.profile_kind();
}

// What a client is asked, but for which client it is.
struct Question {
  bool losses = false;
  std::uint32_t round = 1;
  std::uint32_t as_of_round = 1;
  RowsView<float> models;
};

Result<ProfileReply> tell(LocalFederation& federation, std::uint32_t worker, const Question& question,
                          ClientId client) {
  return federation.link(worker).profile({.client = client,
                                          .kind = kind_of(federation, question.losses).entry().name,
                                          .round = question.as_of_round,
                                          .asked_in = question.round,
                                          .models = question.models,
                                          .exemplars = federation.exemplars()});
}

class ProfileCall final : public RankCall {
 public:
  ProfileCall(LocalFederation& federation, const ProfileRequest& request, const ProfileSink& sink)
      : federation_(federation),
        request_(request),
        sink_(sink),
        question_{request.losses, request.round, request.as_of_round, request.models},
        each_(kind_of(federation, request.losses).entry().trains ? 1 : kClientsThatCount),
        replies_((request.clients.size() + each_ - 1) / each_) {}

  CallKind kind() const override { return CallKind::kProfile; }
  std::vector<double> work() const override {
    std::vector<double> work;
    for (std::uint32_t unit = 0; unit < replies_.size(); ++unit) {
      double samples = 0;
      for (const ClientId client : clients(unit)) samples += federation_.roster().train_samples(client);
      work.push_back(samples);
    }
    return work;
  }
  std::size_t answer_bytes() const override { return each_ * federation_.network().size() * sizeof(float); }
  std::vector<std::span<const float>> for_all() const override {
    if (request_.models.empty()) return {};
    return {request_.models.values};
  }

  void describe(NumberedModels& models, ParcelWriter& out) const override {
    out.put(static_cast<std::uint8_t>(request_.losses));
    out.put(request_.round);
    out.put(request_.as_of_round);
    out.put(std::uint64_t{request_.models.width});
    out.put(models.number(request_.models.values));
  }

  Status ask(std::uint32_t, std::uint32_t unit, NumberedModels&, ParcelWriter& out) override {
    out.put_list(clients(unit));
    MUSTER_ASSIGN(std::vector<StateCopy> states, copies_of(federation_.states(), clients(unit), kSlots));
    put_copies(std::move(states), out);
    return {};
  }

  Status answered(std::uint32_t unit, ParcelReader& in) override {
    const std::size_t most =
        federation_.network().size() + request_.models.count() + std::size_t{federation_.network().classes()};
    std::vector<ProfileReply> replies;
    for (std::size_t i = 0; i < clients(unit).size(); ++i) replies.push_back(take_profile(in, most));
    MUSTER_TRY(in.finish("profiles"));
    replies_[unit] = std::move(replies);
    return {};
  }

  Status do_here(std::uint32_t worker, std::uint32_t unit) override {
    for (const ClientId client : clients(unit)) {
      MUSTER_ASSIGN(ProfileReply reply, tell(federation_, worker, question_, client));
      replies_[unit].push_back(std::move(reply));
    }
    return {};
  }

  void accept(std::uint32_t unit) override {
    std::size_t index = unit * each_;
    for (ProfileReply& reply : replies_[unit]) sink_(index++, reply);
    replies_[unit] = {};
  }

 private:
  [[nodiscard]] std::span<const ClientId> clients(std::uint32_t unit) const {
    const std::size_t first = unit * each_;
    return request_.clients.subspan(first, std::min(each_, request_.clients.size() - first));
  }

  LocalFederation& federation_;
  const ProfileRequest& request_;
  const ProfileSink& sink_;
  const Question question_;
  const std::size_t each_;  // clients of a unit
  std::vector<std::vector<ProfileReply>> replies_;
};

class ServedProfiles final : public ServedCall {
 public:
  ServedProfiles(LocalFederation& federation, const Question& question, ReceivedModels::Model models)
      : federation_(federation), question_(question), models_(std::move(models)) {}

  Result<Unit> read(ReceivedModels&, ParcelReader& in) override {
    auto clients = in.take_list<ClientId>();
    auto states = take_copies(in, clients, federation_.network().size());
    MUSTER_TRY(in.finish("clients to ask"));
    const auto known = [&](ClientId client) { return client.value < federation_.roster().clients(); };
    if (!std::ranges::all_of(clients, known)) return failure("clients to ask are malformed");
    return Unit([this, clients = std::move(clients), states = std::move(states)](std::uint32_t worker,
                                                                                 ParcelWriter& answer) -> Status {
      MUSTER_TRY(store_copies(federation_.states(), states));
      for (const ClientId client : clients) {
        MUSTER_ASSIGN(ProfileReply reply, tell(federation_, worker, question_, client));
        put_profile(std::move(reply), answer);
      }
      for (const StateCopy& copy : states) federation_.states().forget(copy.client, copy.slot);
      return {};
    });
  }

 private:
  LocalFederation& federation_;
  Question question_;
  ReceivedModels::Model models_;  // that the question borrows from
};

}  // namespace

std::unique_ptr<RankCall> make_profile_call(LocalFederation& federation, const ProfileRequest& request,
                                            const ProfileSink& sink) {
  return std::make_unique<ProfileCall>(federation, request, sink);
}

Result<std::unique_ptr<ServedCall>> serve_profile(LocalFederation& federation, ReceivedModels& models,
                                                  ParcelReader& in) {
  Question question;
  question.losses = in.take_flag();
  question.round = in.take<std::uint32_t>();
  question.as_of_round = in.take<std::uint32_t>();
  const auto width = in.take<std::uint64_t>();
  const auto number = in.take<std::uint64_t>();
  MUSTER_TRY(in.finish("a call for profiles"));
  ReceivedModels::Model sent = models.find(number);
  if (number != 0) {
    if (!sent.values || width != federation.network().size() || sent.values->size() % width != 0) {
      return failure("a call for profiles names models that were not sent");
    }
    question.models = {*sent.values, width};
  }
  return std::unique_ptr<ServedCall>(new ServedProfiles(federation, question, std::move(sent)));
}

}  // namespace muster
