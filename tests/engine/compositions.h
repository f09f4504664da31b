// The compositions that whole-run tests go through, each named so that a failing test tells which one it was: one for
// every kind of state that a run can have.
#pragma once

#include <ostream>
#include <string>
#include <vector>

namespace muster {

struct NamedSettings {
  const char* name;
  std::vector<std::string> settings;
};
inline std::ostream& operator<<(std::ostream& out, const NamedSettings& composition) {
  return out << composition.name;
}

inline const std::vector<NamedSettings> kCompositions{
    {"plain", {}},
    {"prox", {"local.objective=prox", "local.mu=0.5"}},
    {"control-variate", {"local.objective=control-variate", "aggregation.global=control-variate"}},
    {"control-variate-gradient",
     {"local.objective=control-variate", "aggregation.global=control-variate", "local.control=gradient"}},
    {"dynamic", {"local.objective=dynamic", "aggregation.global=dynamic"}},
    {"mmd", {"local.objective=mmd", "local.lambda=0.3"}},
    {"fusion", {"model.name=mlp", "model.hidden=[16]", "local.objective=fusion"}},
    {"smoothed-shares",
     {"model.name=mlp", "model.hidden=[16]", "local.objective=fusion", "local.fusion=multi",
      "local.share-smoothing=0.5", "faults.drop=0.2"}},
    {"share-in-groups",
     {"profile.kind=classifier-weights", "profile.epochs=1", "grouping.method=agglomerative", "grouping.groups=3",
      "model.name=mlp", "model.hidden=[16]", "local.objective=fusion", "local.fusion=single",
      "aggregation.global=none"}},
    {"adagrad", {"aggregation.global=adagrad", "aggregation.server-learning-rate=0.05"}},
    {"adam", {"aggregation.global=adam", "aggregation.server-learning-rate=0.02"}},
    {"yogi", {"aggregation.global=yogi", "aggregation.server-learning-rate=0.02"}},
    {"kept-momentum", {"local.momentum=0.9", "local.keep-optimizer=true", "local.learning-rate=0.02"}},
    {"kept-adam", {"local.optimizer=adam", "local.keep-optimizer=true", "local.learning-rate=0.002"}},
    {"local", {"aggregation.global=none"}},
    {"faults", {"faults.drop=0.3", "faults.nan=0.2", "faults.straggle=0.3", "faults.stragglers=partial"}},
    {"steps", {"local.steps=3", "evaluation.every=2"}},
    {"fractional-epochs", {"local.epochs=1.5", "local.weight-decay=0.01", "local.learning-rate-decay=0.9"}},
    {"both-evaluations", {"evaluation.on=both", "data.test-fraction=0.2", "evaluation.clients=0.5"}},
    // Groups: in sequence, growing and formed anew every round; in parallel on edges, drawn by their evenness; in
    // slots; with a model each; from profiles that clients train for.
    {"growing-chains",
     {"plan.sample-clients=1.0", "profile.kind=label-histogram", "grouping.method=inter-cluster",
      "plan.groups={growth=\"log\",alpha=2.0,beta=2}", "plan.regroup-every=1", "plan.sample-groups=0.5",
      "training.mode=sequential", "aggregation.global=uniform"}},
    {"even-groups-on-edges",
     {"plan.sample-clients=1.0", "data.edges=2", "profile.kind=label-histogram",
      "grouping.method=coefficient-of-variation", "grouping.min-size=2", "plan.sample-groups=2",
      "plan.sampling=exp-inverse-cov-squared", "training.group-rounds=2", "plan.regroup-every=3", "faults.drop=0.3"}},
    {"unbiased",
     {"plan.sample-clients=1.0", "profile.kind=label-histogram", "grouping.method=coefficient-of-variation",
      "grouping.min-size=2", "plan.sample-groups=3", "plan.sampling=inverse-cov", "training.group-rounds=2",
      "aggregation.global=unbiased", "plan.regroup-every=2", "faults.drop=0.2"}},
    {"stabilised",
     {"plan.sample-clients=1.0", "profile.kind=label-histogram", "grouping.method=coefficient-of-variation",
      "grouping.min-size=2", "plan.sample-groups=2", "plan.sampling=exp-inverse-cov-squared",
      "aggregation.global=stabilised", "faults.drop=0.2"}},
    {"slots",
     {"plan.sample-clients=1.0", "profile.kind=label-histogram", "grouping.method=mediator", "grouping.size=3",
      "plan.sample-groups=0.5", "training.mode=sequential", "training.passes=2", "aggregation.global=slots",
      "aggregation.window=3"}},
    {"models-by-direction",
     {"profile.kind=update-direction", "profile.steps=3", "grouping.method=decomposed-cosine", "grouping.groups=3",
      "aggregation.global=none", "aggregation.mixing=0.1"}},
    {"late-clients-by-direction",
     {"profile.kind=update-direction", "profile.steps=3", "profile.clients=5", "grouping.method=mean-absolute-cosine",
      "grouping.groups=2", "aggregation.global=none", "newcomers.assign=nearest-direction", "newcomers.round=3",
      "newcomers.clients=2", "plan.sample-clients=4"}},
    {"placed-by-loss",
     {"profile.kind=classifier-weights", "profile.epochs=1", "profile.clients=6", "grouping.method=agglomerative",
      "grouping.groups=2", "aggregation.global=none", "newcomers.assign=argmin-loss"}},
    {"placed-by-head",
     {"profile.kind=classifier-weights", "profile.epochs=1", "profile.clients=6", "grouping.method=agglomerative",
      "grouping.groups=2", "aggregation.global=none", "newcomers.assign=nearest-head"}},
    {"late-clients", {"newcomers.round=3", "newcomers.clients=0.5"}},
    {"variance-event",
     {"plan.sample-clients=1.0", "plan.sampling=all", "profile.kind=classifier-weights", "grouping.method=gap-voting",
      "plan.regroup-on=loss-variance", "local.adapt-epochs=0.5", "aggregation.global=none",
      "aggregation.start=members"}},
    {"bipartition",
     {"plan.sample-clients=1.0", "profile.kind=update-direction", "grouping.method=bipartition",
      "grouping.epsilon-mean=1e9", "grouping.epsilon-max=0", "plan.regroup-on=bipartition", "plan.regroup-round=2",
      "aggregation.global=none"}},
    {"round-event",
     {"plan.sample-clients=1.0", "profile.kind=update-direction", "grouping.method=agglomerative", "grouping.groups=3",
      "plan.regroup-on=round", "plan.regroup-round=3", "aggregation.global=none", "faults.drop=0.2"}},
    {"split-by-calibrated-lengths",
     {"plan.sample-clients=1.0", "profile.kind=update-direction", "grouping.method=bipartition",
      "grouping.epsilon-mean=0.9", "grouping.epsilon-max=0.5", "plan.regroup-on=bipartition", "plan.regroup-round=3",
      "plan.calibrate-round=2", "aggregation.global=none"}},
    // Clients that choose their group whenever they take part: by losses, by what they sent, and between groups that
    // were formed for them.
    {"chosen-by-loss",
     {"profile.kind=losses", "grouping.method=argmin-loss", "grouping.groups=3", "aggregation.global=none",
      "aggregation.in-group=uniform", "faults.drop=0.2", "faults.nan=0.1"}},
    {"chosen-by-what-was-sent",
     {"grouping.method=nearest-centre", "grouping.groups=2", "aggregation.global=none", "faults.drop=0.2"}},
    {"chosen-again",
     {"profile.kind=update-direction", "profile.steps=3", "profile.clients=6", "grouping.method=nearest-centre",
      "grouping.groups=3", "aggregation.global=none", "newcomers.assign=nearest-model", "newcomers.rejoin=true",
      "newcomers.round=3", "newcomers.clients=2", "local.state-limit-mb=0"}},
    {"inverse-distance", {"aggregation.global=inverse-distance", "aggregation.norm=l2"}},
    {"dynamic-in-groups",
     {"profile.kind=classifier-weights", "profile.epochs=1", "grouping.method=agglomerative", "grouping.groups=3",
      "plan.regroup-every=2", "local.objective=dynamic", "aggregation.global=dynamic", "faults.drop=0.2"}},
    // What clients keep to themselves: a part of the model, a part that is trained apart, a model besides, nothing of
    // what is tuned; and a part that nobody trains any more.
    {"personal-head", {"local.personal=head", "data.test-fraction=0.2", "faults.drop=0.3", "faults.nan=0.2"}},
    {"personal-head-first",
     {"local.personal=head", "local.personal-epochs=2.0", "local.momentum=0.5", "data.test-fraction=0.2"}},
    {"own-model", {"local.own-model=0.5", "local.momentum=0.5", "local.keep-optimizer=true", "data.test-fraction=0.2"}},
    {"tuned-clients", {"evaluation.fine-tune=1.5", "data.test-fraction=0.2", "evaluation.clients=0.5"}},
    {"frozen-body", {"local.freeze=body", "local.freeze-from=9"}},
    {"personal-body-in-chains",
     {"plan.sample-clients=1.0", "profile.kind=label-histogram", "grouping.method=mediator", "grouping.size=3",
      "plan.sample-groups=0.5", "training.mode=sequential", "training.passes=2", "local.personal=body",
      "data.test-fraction=0.2"}},
    {"groups-that-share-their-body",
     {"profile.kind=label-histogram", "grouping.method=mediator", "grouping.size=4", "aggregation.global=none",
      "aggregation.shared=body"}},
    // Rules that see all models at once, in a group, across groups and both, with some that attack; and privacy.
    {"judged-members",
     {"plan.sample-clients=1.0", "grouping.method=random", "grouping.size=6", "aggregation.in-group=multi-krum",
      "aggregation.global=median", "attack.kind=noise", "faults.drop=0.2"}},
    {"judged-members-again",
     {"plan.sample-clients=1.0", "grouping.method=random", "grouping.size=5", "aggregation.in-group=flame",
      "aggregation.global=krum", "aggregation.attackers=1", "training.group-rounds=2", "attack.kind=sign-flip"}},
    {"judged-clients", {"plan.sample-clients=1.0", "aggregation.global=flame", "attack.kind=replacement"}},
    {"clipped-members",
     {"plan.sample-clients=1.0", "grouping.method=random", "grouping.size=3", "aggregation.in-group=norm-clip",
      "aggregation.clip=0.2", "aggregation.global=trimmed-mean", "attack.kind=label-flip"}},
    {"private", {"aggregation.global=adam", "dp.clip=0.5", "dp.noise-multiplier=0.5", "dp.epsilon=1000.0"}},
    // Groups whose members are summed without anybody seeing what one sends.
    {"secure-sums",
     {"plan.sample-clients=1.0", "data.edges=2", "profile.kind=label-histogram", "grouping.method=mediator",
      "grouping.size=4", "plan.sample-groups=0.7", "training.group-rounds=2", "aggregation.in-group=secure-sum",
      "secure.threshold=0.6", "faults.drop=0.2", "faults.nan=0.1"}},
    {"hidden-samples",
     {"plan.sample-clients=1.0", "grouping.method=random", "grouping.size=4", "training.group-rounds=2",
      "aggregation.in-group=secure-sum", "secure.samples=hidden", "evaluation.on=global", "faults.drop=0.1"}},
    {"summed-controls",
     {"plan.sample-clients=1.0", "grouping.method=random", "grouping.size=4", "training.group-rounds=2",
      "aggregation.in-group=secure-sum", "local.objective=control-variate", "aggregation.global=control-variate",
      "faults.drop=0.1"}},
    {"summed-dynamic",
     {"plan.sample-clients=1.0", "grouping.method=random", "grouping.size=4", "aggregation.in-group=secure-sum",
      "local.objective=dynamic", "aggregation.global=dynamic", "faults.drop=0.1"}},
};

// A name that GoogleTest accepts.
inline std::string test_name(std::string name) {
  for (char& c : name) {
    if (c == '-') c = '_';
  }
  return name;
}

}  // namespace muster
