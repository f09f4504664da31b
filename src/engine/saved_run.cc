#include "engine/saved_run.h"

#include <algorithm>
#include <charconv>

#include "base/file.h"
#include "base/names.h"
#include "clients/client_state.h"
#include "data/readers/csv_records.h"
#include "data/shown_text.h"
#include "recipe/choices.h"
#include "record/checkpoint.h"
#include "record/weights_file.h"
#include "solver/local_solver.h"

namespace muster {
namespace {

constexpr std::uint64_t kMostPreparationBytes = std::uint64_t{1} << 28;
constexpr std::uint64_t kMostClientsBytes = std::uint64_t{1} << 34;
constexpr std::size_t kClientsShown = 8;

std::optional<std::uint32_t> to_number(std::string_view text) {
  std::uint32_t number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

Result<std::string> read_text(const std::filesystem::path& path, std::uint64_t limit) {
  MUSTER_ASSIGN(const std::vector<std::uint8_t> bytes, read_file(path, limit));
  return std::string(bytes.begin(), bytes.end());
}

}  // namespace

std::string describe(const ModelChoice& choice) {
  if (choice.group) return fmt::format("group {}", choice.group->value);
  if (choice.client) return fmt::format("client {}", choice.client->value);
  return "shared";
}

Result<SavedRun> SavedRun::open(const std::filesystem::path& out, const std::string& run) {
  MUSTER_ASSIGN(RunFolder folder, RunFolder::open(out, run));
  MUSTER_ASSIGN(Recipe recipe, load_recipe((folder.path() / "recipe.toml").string()));
  MUSTER_TRY(check_recipe(recipe));
  const std::filesystem::path file = folder.path() / "preparation.json";
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) {
    return failure(
        "{}: not there: the run has not finished, or an older build made it; muster run --resume {} writes it",
        file.string(), folder.path().string());
  }
  MUSTER_ASSIGN(const std::string text, read_text(file, kMostPreparationBytes));
  auto preparation = parse_preparation(text);
  if (!preparation) return std::move(preparation).error().within(file.string());
  const auto classes = static_cast<std::uint32_t>(preparation->classes.size());
  ModelOptions model = recipe.model;
  // The file that the run began with may be gone; the run's own has the same tensors.
  if (is_external(model)) model.path = (folder.path() / "model.safetensors").string();
  auto network = make_network(model, preparation->shape, classes, fusion_of(recipe.local.objective));
  if (!network) return std::move(network).error().within(file.string());
  SavedRun saved(std::move(folder), std::move(recipe), std::move(*preparation), std::move(*network));
  MUSTER_TRY(saved.read_clients());
  saved.list_models();
  return saved;
}

Status SavedRun::read_clients() {
  const std::filesystem::path file = folder_.path() / "clients.csv";
  MUSTER_ASSIGN(const std::string text, read_text(file, kMostClientsBytes));
  const auto wrong = [&](std::size_t line, std::string_view found) {
    return failure("{}: line {}: '{}', want client,name,samples,group with clients from 0 on", file.string(), line,
                   shown_text(found));
  };
  CsvRecords records(text);
  for (bool header = true;; header = false) {
    auto more = records.next();
    if (!more) return std::move(more).error().within(file.string());
    if (!*more) return {};
    const auto fields = records.fields();
    if (header) continue;
    if (fields.size() < 4 || to_number(fields[0]) != clients_.size()) return wrong(records.line(), fields[0]);
    clients_.push_back({std::string(fields[1]), to_number(fields[3])});
  }
}

void SavedRun::list_models() {
  if (clients_have_models()) {
    for (std::uint32_t k = 0; k < clients_.size(); ++k) models_.push_back({.client = ClientId{k}});
  } else if (!keeps_models_per_group(recipe_)) {
    models_.push_back({});
  } else {
    std::uint32_t groups = 0;
    for (const Client& client : clients_) groups = std::max(groups, client.group ? *client.group + 1 : 0);
    for (std::uint32_t g = 0; g < groups; ++g) models_.push_back({.group = GroupId{g}});
    if (models_.empty()) models_.push_back({});  // nobody is in a group yet
  }
}

Result<ModelChoice> SavedRun::of_client(std::string_view client) const {
  auto found = std::ranges::find(clients_, client, &Client::name);
  if (found == clients_.end()) {
    const auto number = to_number(client);
    if (number && *number < clients_.size()) found = clients_.begin() + *number;
  }
  if (found == clients_.end()) {
    std::vector<std::string> names;
    for (const Client& one : clients_) {
      if (!one.name.empty()) names.push_back(one.name);
    }
    if (names.empty()) {
      return usage_error("client '{}': the run has clients 0 to {}", shown_text(client), clients_.size() - 1);
    }
    const std::string near = nearest_name(client, names);
    if (!near.empty()) {
      return usage_error("client '{}': the run has no such client, did you mean '{}'?", shown_text(client),
                         shown_text(near));
    }
    const std::size_t shown = std::min(names.size(), kClientsShown);
    for (std::string& name : names) name = shown_text(name);
    return usage_error("client '{}': the run has no such client; it has {}{}", shown_text(client),
                       fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(shown), ", "),
                       shown < names.size() ? fmt::format(", ... ({} clients)", names.size()) : "");
  }
  if (recipe_.local.fine_tune) {
    return usage_error(
        "client '{}': clients were scored with models tuned for each of them (evaluation.fine-tune), which a run does "
        "not keep",
        shown_text(client));
  }
  const ClientId id{static_cast<std::uint32_t>(found - clients_.begin())};
  return clients_have_models() ? ModelChoice{.client = id} : sent_to(id);
}

bool SavedRun::clients_have_models() const {
  return keeps_models_in_clients(recipe_) || keeps_parts_in_clients(recipe_);
}

ModelChoice SavedRun::sent_to(ClientId client) const {
  // Who is in no group is scored with the mean of all.
  const std::optional<std::uint32_t> group = clients_[client.value].group;
  return keeps_models_per_group(recipe_) && group ? ModelChoice{.group = GroupId{*group}} : ModelChoice{};
}

Result<ModelChoice> SavedRun::of_group(std::uint32_t group) const {
  const ModelChoice choice{.group = GroupId{group}};
  if (std::ranges::find(models_, choice) != models_.end()) return choice;
  if (!models_.front().group) {
    return usage_error("group {}: the run keeps no models of groups; {}", group,
                       models_.front().client ? "its clients keep their own, choose one" : "it has one model");
  }
  return usage_error("group {}: the run has groups 0 to {}", group, models_.size() - 1);
}

Result<ModelChoice> SavedRun::reported() const {
  if (models_.size() == 1) return models_.front();
  return usage_error("{} has {} models, one for each {}; choose with {}", folder_.id(), models_.size(),
                     models_.front().group ? "group" : "client",
                     models_.front().group ? "--group G or --client NAME" : "--client NAME");
}

Result<std::vector<float>> SavedRun::weights(const ModelChoice& choice) {
  if (choice.client) return kept_by(*choice.client);
  const std::string file =
      choice.group ? fmt::format("model-{}.safetensors", choice.group->value) : std::string("model.safetensors");
  return read_safetensors(folder_.path() / file, *network_);
}

// From the newest checkpoint that can be read.
Status SavedRun::restore_states() {
  Error last{ErrorCode::kFailed, fmt::format("{}: no checkpoint there", folder_.checkpoints().string())};
  for (const std::filesystem::path& file : list_checkpoints(folder_.checkpoints())) {
    auto checkpoint = read_checkpoint(file);
    if (!checkpoint) {
      last = std::move(checkpoint).error();
      continue;
    }
    MUSTER_ASSIGN(initial_, checkpoint->get_floats("model"));
    if (initial_.size() != network_->size()) {
      return failure("{}: a model of {} values, the network has {}", file.string(), initial_.size(), network_->size());
    }
    MUSTER_ASSIGN(const std::string manifest, checkpoint->get_string("states"));
    auto states = std::make_unique<ClientStates>(ClientStateOptions{.folder = folder_.path() / "states"});
    MUSTER_TRY(states->restore(manifest));
    states_ = std::move(states);
    return {};
  }
  return last;
}

Result<std::vector<float>> SavedRun::kept_by(ClientId client) {
  if (!states_) MUSTER_TRY(restore_states());
  std::vector<float> model = initial_;  // of a client that never trained
  if (keeps_parts_in_clients(recipe_)) {
    MUSTER_ASSIGN(model, weights(sent_to(client)));
  }
  MUSTER_ASSIGN(const ModelParts parts, model_parts(*network_, recipe_.local));
  if (parts.personal.empty()) {
    MUSTER_ASSIGN([[maybe_unused]] const bool trained, states_->get(client, kModelSlot, model));
    return model;
  }
  std::vector<float> kept(count_of(parts.personal));
  MUSTER_ASSIGN(const bool trained, states_->get(client, kPersonalSlot, kept));
  if (trained) scatter_ranges(kept, parts.personal, model);
  return model;
}

}  // namespace muster
