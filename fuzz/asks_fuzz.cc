// Whatever a cloud or an edge asks of clients, in any order: the workplace of clients answers with work that fits, or
// with why not. Four federations that are as small as can be, so that training takes microseconds; what their clients
// remember goes from input to input. And an edge between a cloud and two processes of clients: what the cloud says of
// whom it admits and refuses, and who comes and goes.
#include <array>
#include <cmath>
#include <memory>

#include "base/check.h"
#include "base/finite.h"
#include "data/federated_data.h"
#include "data/shown_text.h"
#include "deploy/client_workplace.h"
#include "deploy/deployed_members.h"
#include "deploy/edge_run.h"
#include "frame_list.h"
#include "recipe/choices.h"
#include "recipe/fit_to_data.h"
#include "wire/answerer.h"

namespace muster {
namespace {

// Notes what it is sent, and checks that it is whole.
class CheckedChannel final : public Channel {
 public:
  void send(Outgoing outgoing) override {
    if (outgoing.vector) {
      finite_ = finite_ && all_finite(outgoing.vector->values);
      vectors_ += 1;
    } else if (outgoing.frame.has_reply()) {
      const v1::Reply& reply = outgoing.frame.reply();
      MUSTER_CHECK(reply.outcome_case() != v1::Reply::OUTCOME_NOT_SET, "an empty reply");
      if (reply.has_trained()) MUSTER_CHECK(std::isfinite(reply.trained().loss()), "a loss that is not finite");
      MUSTER_CHECK(reply.has_dropped() || vectors_ <= 3, "{} vectors before a reply", vectors_);
      MUSTER_CHECK(finite_ || reply.trained().has_sealed(), "values that are not finite");
      vectors_ = 0;
      finite_ = true;
    }
  }
  void close() override {}

 private:
  std::uint32_t vectors_ = 0;
  bool finite_ = true;
};

// Members of secure sums that have taken part in none.
class FreshMembers final : public SumMembers {
 public:
  explicit FreshMembers(DeployedMembersOptions options) : options_(std::move(options)) { forget(); }
  void forget() { now_ = make_deployed_members(options_); }
  Result<SumMessage> join(const TrainTask& task, const SumTerms& terms) override { return now_->join(task, terms); }
  SumClient* find(ClientId client, std::uint64_t attempt) override { return now_->find(client, attempt); }
  void refuse(ClientId client, const std::string& why) override { now_->refuse(client, why); }
  void leave(ClientId client, const std::string& why) override { now_->leave(client, why); }

 private:
  DeployedMembersOptions options_;
  std::shared_ptr<SumMembers> now_;
};

std::shared_ptr<FreshMembers> fresh_members;

std::shared_ptr<Workplace> workplace(std::initializer_list<const char*> settings) {
  Recipe recipe;
  for (const char* common : {"data.source=synthetic", "data.clients=4", "data.samples-min=4", "data.samples-max=6",
                             "data.test-fraction=0.3", "local.batch-size=4", "local.epochs=1.0", "rounds=3"}) {
    MUSTER_CHECK(apply_setting(recipe, common).ok(), "{}", common);
  }
  for (const char* setting : settings) MUSTER_CHECK(apply_setting(recipe, setting).ok(), "{}", setting);
  auto data = make_federated_data(recipe.data, recipe.seed);
  MUSTER_CHECK(data.ok(), "{}", data.error().message);
  const auto settled = settle_recipe(recipe, **data);
  MUSTER_CHECK(settled.ok(), "{}", settled.error().message);
  if (sums_securely(recipe)) {
    fresh_members =
        std::make_shared<FreshMembers>(DeployedMembersOptions{.run = "r",
                                                              .secure = recipe.training.secure,
                                                              .name = {},
                                                              .signer = *make_member_signer({}, recipe.seed),
                                                              .verifier = make_member_verifier({}, recipe.seed),
                                                              .states = {},
                                                              .say = {}});
  }
  const auto made = make_client_workplace(recipe, std::move(data).value(), 1, {},
                                          {.run = "r",
                                           .name = {},
                                           .signer = *make_member_signer({}, recipe.seed),
                                           .verifier = make_member_verifier({}, recipe.seed),
                                           .say = {},
                                           .sums = {.members = sums_securely(recipe) ? fresh_members : nullptr}});
  MUSTER_CHECK(made.ok(), "{}", made.error().message);
  return *made;
}

const std::shared_ptr<Workplace>& any_workplace(std::uint8_t which) {
  static const std::array places{
      workplace({"model.name=softmax", "local.objective=control-variate", "aggregation.global=control-variate",
                 "profile.kind=label-histogram", "grouping.method=mediator", "grouping.size=2"}),
      workplace({"model.name=mlp", "model.hidden=[3]", "local.personal=head", "profile.kind=update-direction",
                 "grouping.method=agglomerative", "grouping.groups=2"}),
      workplace({"model.name=mlp", "model.hidden=[3]", "local.momentum=0.5", "local.keep-optimizer=true",
                 "local.own-model=0.5"}),
      workplace({"model.name=softmax", "profile.kind=none", "grouping.method=random", "grouping.size=4",
                 "aggregation.in-group=secure-sum"})};
  return places[which % places.size()];
}

// A vector of as many values as the network has, in place of those that were sent: sizes that fit are rare by chance.
void fit_vectors(v1::Frame& frame) {
  if (!frame.has_chunk() || frame.chunk().vector() != 1) return;
  static const std::string zeros(sizeof(float) * 4096, '\0');
  const std::uint64_t wanted = frame.chunk().size();
  if (wanted > 4096 || frame.chunk().offset() != 0) return;
  frame.mutable_chunk()->set_values(zeros.data(), wanted * sizeof(float));
  frame.mutable_chunk()->set_checksum(hash_bytes(frame.chunk().values().data(), frame.chunk().values().size()));
}

// Long training is no fault, and tests nothing.
void shorten(v1::Frame& frame) {
  if (!frame.has_ask() || !frame.ask().has_train() || !frame.ask().train().has_epochs()) return;
  const double epochs = frame.ask().train().epochs();
  if (epochs > 2 && epochs <= 1'000'000) frame.mutable_ask()->mutable_train()->set_epochs(2);
}

constexpr ChunkReader::Limits kFewValues{.vector_values = 4096, .held_values = 16384, .held_vectors = 8};

template <typename Take>
void each_parsed(std::string_view input, const Take& take) {
  each_frame(input, [&](std::string_view bytes) {
    v1::Frame frame;
    if (frame.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) take(frame);
  });
}

void work_on_all(Answerer& answerer) {
  while (answerer.work_on()) {
  }
}

void ask_clients(std::uint8_t which, std::string_view input) {
  (void)any_workplace(which);
  fresh_members->forget();
  Answerer answerer(
      {.threads = 0, .limits = kFewValues, .begin = [&](const v1::Welcome&) -> Result<std::shared_ptr<Workplace>> {
         return any_workplace(which);
       }});
  const auto user = answerer.attach(std::make_shared<CheckedChannel>());
  v1::Frame welcome;
  welcome.mutable_welcome()->set_run("r");
  user->received(std::move(welcome));
  each_parsed(input, [&](v1::Frame& frame) {
    if (frame.has_welcome()) return;
    fit_vectors(frame);
    shorten(frame);
    user->received(std::move(frame));
    work_on_all(answerer);
  });
  user->closed("the input has ended");
}

// What clients say goes to one of the two, by its size; all else comes from the cloud. Without asks: they would wait
// for clients that never answer, and frames_fuzz.cc has them.
void ask_an_edge(std::string_view input) {
  const auto say = [](const WireNote& note) {
    MUSTER_CHECK(shown_text(note.line) == note.line, "said {}", shown_text(note.line));
  };
  Answerer* upwards = nullptr;
  RemoteClients clients(edge_admission(), {.say = say, .presence = [&](const auto& came, const auto& went) {
                                             upwards->presence(came, went);
                                           }});
  Answerer::Options options = edge_answers(clients, Security{}, say);
  options.threads = 0;
  options.limits = kFewValues;
  Answerer answerer(std::move(options));
  upwards = &answerer;
  const auto cloud = answerer.attach(std::make_shared<CheckedChannel>());
  std::array<std::shared_ptr<PeerUser>, 2> peers;
  for (auto& peer : peers) {
    peer = clients.attach(std::make_shared<CheckedChannel>(), "peer", false, [](const v1::Client&) { return true; });
  }
  each_parsed(input, [&](v1::Frame& frame) {
    if (frame.has_ask()) return;
    if (frame.has_hello() || frame.has_presence() || frame.has_reply()) {
      peers[frame.ByteSizeLong() % peers.size()]->received(std::move(frame));
    } else {
      cloud->received(std::move(frame));
      work_on_all(answerer);
    }
  });
  cloud->closed("the input has ended");
  for (const auto& peer : peers) peer->closed("the input has ended");
  const RemoteClients::Figures left = clients.figures();
  MUSTER_CHECK(left.clients == 0 && left.peers == 0, "{} clients and {} peers are still here", left.clients,
               left.peers);
}

}  // namespace
}  // namespace muster

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] >= 128) {
    muster::ask_an_edge(input);
  } else {
    muster::ask_clients(data[0], input);
  }
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most,
                                               unsigned int seed) {
  return muster::mutate_frame_list(data, size, most, seed);
}
