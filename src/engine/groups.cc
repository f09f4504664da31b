#include "engine/groups.h"

#include <algorithm>
#include <cmath>

#include "base/finite.h"
#include "base/random.h"
#include "base/stopwatch.h"
#include "engine/packed_grouping.h"
#include "engine/saved_model.h"
#include "plan/schedule.h"
#include "recipe/attendance.h"
#include "recipe/choices.h"

namespace muster {

Groups::Groups(const Recipe& recipe, Federation& federation, const Oracle* oracle)
    : recipe_(recipe), federation_(federation), oracle_(oracle) {
  const AggregationEntry* const aggregation = find_aggregation(recipe.aggregation.global);
  separate_models_ = aggregation && aggregation->models == ModelKeeping::kPerGroup;
  samples_by_cov_ = samples_by_cov(recipe.plan.sampling);
  seeded_ = seeds_models(recipe);
  rejoins_ = muster::rejoins(recipe);
}

Result<std::unique_ptr<Groups>> Groups::make(const Recipe& recipe, Federation& federation, const Oracle* oracle,
                                             const std::filesystem::path& sent) {
  // What the network must have for the profiles, before anything trains.
  MUSTER_TRY(federation.profile_kind().width(federation.network(), 1));
  std::unique_ptr<Groups> made(new Groups(recipe, federation, oracle));
  made->event_ = make_regroup_event(recipe.plan.regroup);
  MUSTER_ASSIGN(made->rule_, make_newcomer_rule(newcomer_rule_of(recipe), recipe.seed));
  if (remembers_sent(recipe)) {
    made->sent_ = std::make_unique<SentModels>(
        ClientStateOptions{.folder = sent, .memory_limit_bytes = std::uint64_t{recipe.local.state_limit_mb} << 20},
        made->drawn_model({}));
  }
  return made;
}

namespace {

// Whether somebody is there from this round on, whom a deployment let in whenever it came.
bool joined_in(const Roster& roster, std::uint32_t round) {
  if (round <= 1) return false;
  for (std::uint32_t k = 0; k < roster.clients(); ++k) {
    if (roster.since_round({k}) == round && roster.train_samples({k}) > 0) return true;
  }
  return false;
}

}  // namespace

std::string_view Groups::due(std::uint32_t round) const {
  if (formed_for_ == 0) return round == 1 ? "the run begins" : "there are none yet";
  if (waits_) return {};
  if (overdue_) return "too few answered before";
  // Late clients that nobody places need new groups to be in one.
  if (!places_newcomers() && (round == recipe_.newcomers.round || joined_in(federation_.roster(), round))) {
    return "newcomers";
  }
  return round > 1 && regroup_before(recipe_.plan.regroup, round) ? "regroup-every" : "";
}

std::vector<float> Groups::drawn_model(const StreamKey& key) const {
  const Network& network = federation_.network();
  std::vector<float> model(network.size());
  Stream stream({.seed = recipe_.seed, .purpose = Purpose::kInitialise, .id = key.id, .part = key.part});
  network.initialise(model, stream);
  return model;
}

std::vector<float> Groups::profile_start() const {
  return drawn_model({.part = federation_.profile_kind().start_part()});
}

std::uint32_t Groups::wanted_groups(std::uint32_t round, std::uint32_t clients) const {
  return recipe_.plan.groups ? scheduled_groups(*recipe_.plan.groups, round, std::max(1u, clients))
                             : recipe_.grouping.groups.value_or(1);
}

Result<ClientProfiles> Groups::ask(const ProfileRequest& request, GroupsFormed& formed) {
  const Stopwatch watch(&formed.profile_s);
  ProfileRequest watched = request;
  if (watcher_) watched.answered = [&](std::size_t answered) { watcher_(answered, request.clients.size()); };
  MUSTER_ASSIGN(CollectedProfiles told, federation_.profile(watched));
  formed.dropped = std::move(told.dropped);
  formed.bytes_up = told.profiles.bytes_up;
  formed.bytes_down = told.profiles.bytes_down;
  formed.samples_trained = told.samples_trained;
  formed.slowest_flops = told.slowest_flops;
  return std::move(told.profiles);
}

GroupsFormed Groups::form_everyone(std::uint32_t round, std::string_view why) {
  Grouping everyone;
  everyone.add(federation_.roster().present(round));
  take(std::move(everyone));
  formed_for_ = round;
  waits_ = true;
  GroupsFormed formed{.anew = true};
  formed.line = line(round, why, formed);
  return formed;
}

// As many groups as are wanted, all empty, each with an initialisation of its own; the first has the run's (IFCA).
GroupsFormed Groups::form_seeded(std::uint32_t round, std::string_view why) {
  const auto there = static_cast<std::uint32_t>(federation_.roster().present(round).size());
  const std::uint32_t count = wanted_groups(round, there);
  GroupsFormed formed{.anew = true, .starts = Rows<float>(count, federation_.network().size())};
  Grouping empty;
  for (std::uint32_t g = 0; g < count; ++g) {
    empty.add({});
    std::ranges::copy(drawn_model({.id = g}), formed.starts.row(g).begin());
  }
  take(std::move(empty));
  formed_for_ = round;
  formed.line = line(round, why, formed);
  return formed;
}

Result<Groups::Told> Groups::listen(std::uint32_t round, GroupsFormed& formed) {
  const Roster& roster = federation_.roster();
  const ProfileEntry& kind = federation_.profile_kind().entry();
  Told told{.samples = std::vector<std::uint32_t>(roster.clients())};
  if (kind.gives == ProfileGives::kNothing) {
    for (std::uint32_t k = 0; k < roster.clients(); ++k) {
      if (roster.may_train({k}, round)) told.samples[k] = roster.train_samples({k});
    }
    return told;
  }
  const std::vector<ClientId> asked = asked_clients(recipe_, round, roster.present(round));
  if (kind.trains) told.start = profile_start();
  const ProfileRequest request{
      .clients = asked, .round = round, .as_of_round = round, .models = {told.start, told.start.size()}};
  MUSTER_ASSIGN(const ClientProfiles profiles, ask(request, formed));
  const auto spread = [&]<typename T>(const Rows<T>& rows, Rows<T>& all) {
    if (rows.width == 0) return;
    all = Rows<T>(roster.clients(), rows.width);
    for (std::uint32_t i = 0; i < asked.size(); ++i) std::ranges::copy(rows.row(i), all.row(asked[i].value).begin());
  };
  spread(profiles.labels, told.labels);
  spread(profiles.vectors, told.vectors);
  for (const ClientId client : asked) told.samples[client.value] = roster.train_samples(client);
  // Who told nothing cannot be placed.
  for (const std::uint32_t row : profiles.missing) told.samples[asked[row].value] = 0;
  return told;
}

Result<GroupsFormed> Groups::form(std::uint32_t round, std::string_view why, std::span<const std::uint32_t> selected) {
  GroupsFormed formed;
  if (!federation_.roster().anybody(round)) {
    take({});
    formed.notes.emplace_back("nobody with samples is there yet; groups wait for late clients");
    return formed;
  }
  if (event_ && formed_for_ == 0) return form_everyone(round, why);
  if (seeded_) return form_seeded(round, why);
  MUSTER_ASSIGN(const Told told, listen(round, formed));
  Status status = form_from(round,
                            {.samples = told.samples,
                             .labels = told.labels,
                             .vectors = told.vectors,
                             .edges = federation_.roster().edge_of(),
                             .selected = selected},
                            formed);
  if (status) {
    measure_cov(told.labels);
    // Groups by changes of a model begin a step along theirs: at the mean of their members' first models (FedGroup).
    if (federation_.profile_kind().directs_start() && separate_models_) {
      formed.starts = Rows<float>(means_.count(), told.start.size());
      for (std::uint32_t g = 0; g < means_.count(); ++g) {
        const std::span<float> start = formed.starts.row(g);
        std::ranges::copy(told.start, start.begin());
        for (std::size_t i = 0; i < means_.width; ++i) start[i] += means_.row(g)[i];
      }
    }
    if (federation_.profile_kind().directs_start() && sent_) remember(told);
  } else if (formed.dropped.empty()) {
    return std::move(status).error();
  } else {
    // Too many vanished: the groups stay as they are, and the next round asks again.
    overdue_ = true;
    if (formed_for_ == 0) take({});
    formed.notes.push_back(fmt::format("{} clients told nothing; {}", formed.dropped.size(), status.error().message));
  }
  formed.line = line(round, why, formed);
  return formed;
}

// What clients trained for their profile counts as what they sent.
void Groups::remember(const Told& told) {
  for (std::uint32_t k = 0; k < told.samples.size(); ++k) {
    if (told.samples[k] == 0) continue;
    std::vector<float> model = told.start;
    for (std::size_t i = 0; i < told.vectors.width; ++i) model[i] += told.vectors.row(k)[i];
    sent_->remember({k}, model);
  }
}

namespace {

// The same counts, divided by a power of two.
Rows<std::uint32_t> shifted(const RowsView<std::uint32_t>& labels, std::uint32_t shift) {
  Rows<std::uint32_t> rows(labels.count(), labels.width);
  for (std::uint32_t k = 0; k < labels.count(); ++k) {
    std::ranges::transform(labels.row(k), rows.row(k).begin(), [&](std::uint32_t count) { return count >> shift; });
  }
  return rows;
}

// What clients tell can be anything, also noise on noise, and must not end a run. Counts that are too large to compute
// with exactly are divided; a tail that would leave nobody is kept.
Result<FormedGroups> form_from_anything(const GroupingOptions& options, GroupingInput input, const GroupingCall& call) {
  constexpr std::uint32_t kBits = 32;
  Result<FormedGroups> groups = form_groups(options, input, call);
  Rows<std::uint32_t> smaller;
  const RowsView<std::uint32_t> told = input.labels;
  std::uint32_t shift = 0;
  while (!groups && groups.error().code == ErrorCode::kFailed && !told.empty() && shift + 4 < kBits) {
    shift += 4;
    smaller = shifted(told, shift);
    input.labels = smaller.view();
    groups = form_groups(options, input, call);
  }
  const bool kept = !groups && (options.tail.empty() || options.tail == "discard");
  if (kept) {
    GroupingOptions keeping = options;
    keeping.tail = "keep";
    if (Result<FormedGroups> found = form_groups(keeping, input, call)) groups = std::move(found);
  }
  if (!groups) return groups;
  if (shift > 0) {
    groups->notes.push_back(fmt::format("clients told label counts too large to group by; divided by {}", 1u << shift));
  }
  if (kept)
    groups->notes.emplace_back("grouping.tail: discard would leave no group at all; small ones are kept this time");
  return groups;
}

}  // namespace

Status Groups::form_from(std::uint32_t round, const GroupingInput& input, GroupsFormed& formed) {
  GroupingCall call{.seed = recipe_.seed, .round = round};
  if (recipe_.plan.groups) {
    const auto present = static_cast<std::uint32_t>(input.samples.size() - std::ranges::count(input.samples, 0u));
    call.groups = wanted_groups(round, present);
  }
  FormedGroups groups;
  {
    const Stopwatch watch(&formed.seconds);
    MUSTER_ASSIGN(groups, form_from_anything(recipe_.grouping, input, call));
  }
  grouping_ = std::move(groups.grouping);
  formed.notes = std::move(groups.notes);
  formed.anew = true;
  formed_for_ = round;
  overdue_ = false;
  means_ = {};
  means_start_.clear();
  const bool compared =
      rule_ && (rule_->entry().asks == NewcomerAsks::kUpdates || rule_->entry().asks == NewcomerAsks::kWeights);
  const bool needed = compared || (separate_models_ && federation_.profile_kind().directs_start());
  if (needed && !input.vectors.empty()) means_ = group_means(input.vectors, grouping_);
  if (recipe_.evaluation.distances && !input.vectors.empty()) {
    std::vector<ClientVector> told;
    for (std::uint32_t k = 0; k < input.samples.size(); ++k) {
      if (input.samples[k] > 0) told.push_back({{k}, input.vectors.row(k)});
    }
    formed.distances = distances(std::move(told));
  }
  return {};
}

ClientDistances Groups::distances(std::vector<ClientVector> clients) const {
  return client_distances(compared_by(recipe_, federation_.profile_kind()), std::move(clients));
}

void Groups::measure_cov(const RowsView<std::uint32_t>& labels) {
  cov_.clear();
  if (!samples_by_cov_) return;
  std::vector<std::uint64_t> sums(labels.width);
  for (std::uint32_t g = 0; g < grouping_.count(); ++g) {
    std::ranges::fill(sums, 0);
    for (const ClientId client : grouping_.members({g})) {
      const std::span<const std::uint32_t> own = labels.row(client.value);
      for (std::size_t c = 0; c < sums.size(); ++c) sums[c] += own[c];
    }
    cov_.push_back(coefficient_of_variation(sums));
  }
}

std::string Groups::line(std::uint32_t round, std::string_view why, const GroupsFormed& formed) const {
  return grouping_line({.round = round,
                        .method = recipe_.grouping.method,
                        .why = why,
                        .grouping = grouping_,
                        .profile = &federation_.profile_kind(),
                        .bytes_up = formed.bytes_up,
                        .bytes_down = formed.bytes_down,
                        .distances = formed.distances ? &*formed.distances : nullptr,
                        .notes = formed.notes},
                       oracle_);
}

void Groups::take(Grouping grouping) {
  const std::vector<GroupId> group_of = groups_of_clients(grouping, federation_.roster().clients());
  for (std::uint32_t k = 0; k < group_of.size(); ++k) {
    if (group_of[k] == kNoGroup) grouping.add_idle({k});
  }
  grouping_ = std::move(grouping);
}

std::optional<Agreement> Groups::truth() const {
  const bool grouped = grouping_.count() > 1 && group_sizes(grouping_).largest > 1;
  return oracle_ && grouped ? oracle_->truth(grouping_) : std::nullopt;
}

std::optional<Rows<std::uint64_t>> Groups::label_counts() const {
  constexpr std::uint32_t kMostShown = 200;
  const std::uint32_t count = grouping_.count();
  // Groups of one would show what that one has.
  if (!oracle_ || federation_.roster().hides_samples() || count < 2 || count > kMostShown || group_sizes(grouping_).largest < 2) return std::nullopt;
  Rows<std::uint64_t> labels = oracle_->judge(grouping_).labels;
  if (labels.count() != count) return std::nullopt;
  return labels;
}

std::uint64_t Groups::samples() const {
  std::uint64_t sum = 0;
  for (std::uint32_t g = 0; g < grouping_.count(); ++g) {
    for (const ClientId client : grouping_.members({g})) sum += federation_.roster().train_samples(client);
  }
  return sum;
}

void Groups::save(Checkpoint& checkpoint) const {
  checkpoint.put_uint64("groups-formed-for", formed_for_);
  checkpoint.put_uint64("groups-wait", waits_ ? 1 : 0);
  checkpoint.put_uint64("groups-overdue", overdue_ ? 1 : 0);
  checkpoint.put_string("groups", pack(grouping_, federation_.roster().clients()));
  checkpoint.put_doubles("group-cov", cov_);
  checkpoint.put_floats("group-means", means_.values);
  checkpoint.put_floats("group-means-start", means_start_);
  checkpoint.put_doubles("update-length", std::span(&update_length_, 1));
}

Status Groups::restore(const Checkpoint& checkpoint) {
  MUSTER_ASSIGN(const std::uint64_t formed_for, checkpoint.get_uint64("groups-formed-for"));
  MUSTER_ASSIGN(const std::uint64_t waits, checkpoint.get_uint64("groups-wait"));
  MUSTER_ASSIGN(const std::uint64_t overdue, checkpoint.get_uint64("groups-overdue"));
  MUSTER_ASSIGN(const std::string packed, checkpoint.get_string("groups"));
  MUSTER_ASSIGN(Grouping grouping, unpack(packed, federation_.roster().clients()));
  MUSTER_ASSIGN(std::vector<double> cov, checkpoint.get_doubles("group-cov"));
  MUSTER_ASSIGN(std::vector<float> means, checkpoint.get_floats("group-means"));
  MUSTER_ASSIGN(std::vector<float> start, checkpoint.get_floats("group-means-start"));
  MUSTER_ASSIGN(const std::vector<double> length, checkpoint.get_doubles("update-length"));
  const auto broken = [&](const char* what) {
    return failure("checkpoint of round {} holds {} of another form", checkpoint.round, what);
  };
  const std::uint32_t count = grouping.count();
  if (formed_for > checkpoint.round || (waits != 0 && !event_)) return broken("groups");
  for (std::uint32_t g = 0; g < count; ++g) {
    if (grouping.members({g}).empty() && !rejoins_) return broken("groups");
    for (const ClientId client : grouping.members({g})) {
      if (!federation_.roster().may_train(client, checkpoint.round)) return broken("groups");
    }
  }
  const bool spreads = std::ranges::all_of(cov, [](double value) { return value >= 0; });
  if (cov.size() != (samples_by_cov_ ? count : 0) || !spreads) return broken("coefficients of variation");
  std::size_t width = 0;
  if (!means.empty()) {
    MUSTER_ASSIGN(width, federation_.profile_kind().width(federation_.network(), 1));
    if (width == 0 || means.size() != count * width || !all_finite(means)) return broken("means");
  }
  if ((!start.empty() && start.size() != federation_.network().size()) || !all_finite(start)) return broken("starts");
  if (length.size() != 1 || !std::isfinite(length[0]) || length[0] < 0) return broken("an update's length");
  update_length_ = length[0];
  formed_for_ = static_cast<std::uint32_t>(formed_for);
  waits_ = waits != 0;
  overdue_ = overdue != 0;
  grouping_ = std::move(grouping);
  cov_ = std::move(cov);
  means_.values = std::move(means);
  means_.width = width;
  means_start_ = std::move(start);
  return {};
}

}  // namespace muster
