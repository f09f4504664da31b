// Whatever a cloud or an edge asks of clients, in any order: the workplace of clients answers with work that fits, or
// with why not. Three federations that are as small as can be, so that training takes microseconds; what their clients
// remember goes from input to input.
#include <array>
#include <cmath>
#include <memory>

#include "base/check.h"
#include "base/finite.h"
#include "data/federated_data.h"
#include "deploy/client_workplace.h"
#include "frame_list.h"
#include "recipe/fit_to_data.h"
#include "wire/answerer.h"

namespace muster {
namespace {

// Notes what it is sent, and checks that it is whole.
class CheckedChannel final : public Channel {
 public:
  void send(Outgoing outgoing) override {
    if (outgoing.vector) {
      MUSTER_CHECK(all_finite(outgoing.vector->values), "values that are not finite");
      vectors_ += 1;
    } else if (outgoing.frame.has_reply()) {
      const v1::Reply& reply = outgoing.frame.reply();
      MUSTER_CHECK(reply.outcome_case() != v1::Reply::OUTCOME_NOT_SET, "an empty reply");
      if (reply.has_trained()) MUSTER_CHECK(std::isfinite(reply.trained().loss()), "a loss that is not finite");
      MUSTER_CHECK(reply.has_dropped() || vectors_ <= 3, "{} vectors before a reply", vectors_);
      vectors_ = 0;
    }
  }
  void close() override {}

 private:
  std::uint32_t vectors_ = 0;
};

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
  const auto made = make_client_workplace(recipe, std::move(data).value(), 1, {});
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
                 "local.own-model=0.5"})};
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

}  // namespace
}  // namespace muster

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  if (size == 0) return 0;
  Answerer answerer(
      {.threads = 0,
       .limits = {.vector_values = 4096, .held_values = 16384, .held_vectors = 8},
       .begin = [&](const v1::Welcome&) -> Result<std::shared_ptr<Workplace>> { return any_workplace(data[0]); }});
  const auto user = answerer.attach(std::make_shared<CheckedChannel>());
  v1::Frame welcome;
  welcome.mutable_welcome()->set_run("r");
  user->received(std::move(welcome));
  each_frame({reinterpret_cast<const char*>(data) + 1, size - 1}, [&](std::string_view bytes) {
    v1::Frame frame;
    if (!frame.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) || frame.has_welcome()) return;
    fit_vectors(frame);
    shorten(frame);
    user->received(std::move(frame));
    while (answerer.work_on()) {
    }
  });
  user->closed("the input has ended");
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most,
                                               unsigned int seed) {
  return muster::mutate_frame_list(data, size, most, seed);
}
