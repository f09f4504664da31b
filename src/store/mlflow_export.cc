#include "store/mlflow_export.h"

#include <unistd.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/hash.h"
#include "data/shown_text.h"
#include "record/json_text.h"
#include "store/run_files.h"

namespace muster {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostValueBytes = 500;  // of a parameter, which older versions of MLflow refuse to be longer
constexpr std::uint64_t kMostMetaBytes = std::uint64_t{1} << 20;

// A string as YAML reads it, whatever is in it: YAML's double-quoted strings know all of JSON's escapes.
std::string yaml(const std::string& text) {
  return json_text(nlohmann::json(text));
}

// "file:///a/b%20c"
std::string file_uri(const fs::path& path) {
  std::string uri = "file://";
  for (const char c : fs::absolute(path).lexically_normal().string()) {
    const bool plain =
        std::isalnum(static_cast<unsigned char>(c)) || std::string_view("/-._~").find(c) != std::string::npos;
    uri += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return uri;
}

// One line, and not too long: MLflow takes a file of several lines for a broken one.
std::string one_line(const std::string& value) {
  std::string line = shown_text(value);
  if (line.size() <= kMostValueBytes) return line;
  std::size_t end = kMostValueBytes - 3;
  while (end > 0 && (static_cast<unsigned char>(line[end]) & 0xc0) == 0x80) --end;
  return line.substr(0, end) + "...";
}

std::string hash_text(const std::string& text) {
  return hex16(hash_bytes(text.data(), text.size()));
}

// The experiment that has this name already, else a number made of it.
std::string experiment_id_of(const fs::path& root, const std::string& name) {
  std::error_code error;
  fs::directory_iterator entry(root, error);
  for (const fs::directory_iterator end; !error && entry != end; entry.increment(error)) {
    const auto meta = read_file(entry->path() / "meta.yaml", kMostMetaBytes);
    if (!meta) continue;
    const std::string text = "\n" + std::string(meta->begin(), meta->end()) + "\n";
    for (const std::string& written : {name, yaml(name), "'" + name + "'"}) {
      if (text.find("\nname: " + written + "\n") != std::string::npos) return entry->path().filename().string();
    }
  }
  const std::uint64_t digits = hash_bytes(name.data(), name.size()) % 900'000'000'000'000'000u;
  return std::to_string(100'000'000'000'000'000u + digits);
}

Status write_experiment(const fs::path& folder, const std::string& id, const std::string& name, std::int64_t now_ms) {
  std::error_code ignored;
  if (fs::exists(folder / "meta.yaml", ignored)) return {};
  MUSTER_TRY(make_folder(folder));
  return write_file(folder / "meta.yaml",
                    fmt::format("artifact_location: {}\ncreation_time: {}\nexperiment_id: '{}'\nlast_update_time: {}\n"
                                "lifecycle_stage: active\nname: {}\n",
                                yaml(file_uri(folder)), now_ms, id, now_ms, yaml(name)));
}

// As MLflow numbers them.
int status_of(const StoredRun& run) {
  constexpr int kRunning = 1;
  constexpr int kFinished = 3;
  constexpr int kKilled = 5;
  if (run.condition == RunCondition::kRunning) return kRunning;
  return run.condition == RunCondition::kOver ? kFinished : kKilled;
}

std::string run_meta(const StoredRun& run, const MlflowExport& made) {
  const std::string end = run.condition == RunCondition::kRunning ? "null" : std::to_string(run.changed_s * 1000);
  return fmt::format(
      "artifact_uri: {}\nend_time: {}\nentry_point_name: ''\nexperiment_id: '{}'\nlifecycle_stage: active\n"
      "run_id: {}\nrun_name: {}\nrun_uuid: {}\nsource_name: ''\nsource_type: 4\nsource_version: ''\nstart_time: {}\n"
      "status: {}\ntags: []\nuser_id: muster\n",
      yaml(file_uri(made.folder / "artifacts")), end, made.experiment_id, yaml(made.run_id), yaml(run.id),
      yaml(made.run_id), run.begun_s * 1000, status_of(run));
}

Status write_params(const Store& store, const StoredRun& run, const fs::path& folder) {
  MUSTER_TRY(make_folder(folder));
  MUSTER_ASSIGN(const auto keys, store.recipe(run.id));
  for (const auto& [key, value] : keys) {
    // A key of a file that was changed by hand may be anything.
    const bool plain = std::ranges::all_of(
        key, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '-' || c == '_'; });
    if (!plain || key.starts_with(".") || key.size() > 250) continue;
    MUSTER_TRY(write_file(folder / key, one_line(value)));
  }
  return {};
}

// "timestamp value step" a line, in the order of the rounds.
Status write_metrics(const Store& store, const StoredRun& run, const fs::path& folder) {
  MUSTER_TRY(make_folder(folder));
  MUSTER_ASSIGN(const std::vector<StoredRound> rounds, store.rounds(run.id));
  std::map<std::string, std::string> files;
  double at_s = static_cast<double>(run.begun_s);
  for (const StoredRound& r : rounds) {
    at_s += r.wall_s;
    const auto add = [&](const char* name, const std::optional<double>& value) {
      if (!value || !std::isfinite(*value)) return;
      files[name] += fmt::format("{} {} {}\n", static_cast<std::int64_t>(at_s * 1000), *value, r.round);
    };
    add("accuracy", r.accuracy);
    add("loss", r.loss);
    add("train_loss", r.train_loss);
    add("client_accuracy", r.client_accuracy);
    add("validation_accuracy", r.validation_accuracy);
    add("participants", r.participants);
    add("dropped", r.dropped);
    add("groups", r.groups);
    add("idle", r.idle);
    add("models", r.models);
    add("bytes_total", static_cast<double>(r.bytes_total));
    add("cost_s", r.cost_s);
    add("cost_total_s", r.cost_total_s);
    add("wall_s", r.wall_s);
  }
  for (const auto& [name, lines] : files) MUSTER_TRY(write_file(folder / name, lines));
  return {};
}

Status write_tags_of(const StoredRun& run, const fs::path& folder) {
  MUSTER_TRY(make_folder(folder));
  std::string words;
  for (const std::string& tag : run.tags) words += (words.empty() ? "" : ",") + tag;
  const std::map<std::string, std::string> tags{
      {"mlflow.runName", run.id},      {"mlflow.source.name", "muster"}, {"mlflow.source.type", "LOCAL"},
      {"mlflow.user", "muster"},       {"muster.recipe", run.recipe},    {"muster.signature", run.signature},
      {"muster.stopped", run.stopped}, {"muster.data", run.data},        {"muster.tags", words}};
  for (const auto& [name, value] : tags) MUSTER_TRY(write_file(folder / name, one_line(value)));
  return {};
}

// The files of the run, but what only Muster reads, and the secret of a private run.
Status copy_artifacts(const StoredRun& run, const fs::path& folder) {
  MUSTER_TRY(make_folder(folder));
  std::error_code error;
  fs::directory_iterator entry(run.dir, error);
  for (const fs::directory_iterator end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (!fs::is_regular_file(entry->symlink_status()) || name == "lock" || name.starts_with("events.out.")) continue;
    if (name.starts_with("noise.")) continue;
    fs::copy_file(entry->path(), folder / name, error);
    if (error) break;
  }
  if (error) return failure("{}: cannot be copied: {}", run.dir.string(), error.message());
  return {};
}

Status write_run(const Store& store, const StoredRun& run, const MlflowExport& made, const fs::path& folder) {
  MUSTER_TRY(make_folder(folder));
  MUSTER_TRY(write_params(store, run, folder / "params"));
  MUSTER_TRY(write_metrics(store, run, folder / "metrics"));
  MUSTER_TRY(write_tags_of(run, folder / "tags"));
  MUSTER_TRY(copy_artifacts(run, folder / "artifacts"));
  return write_file(folder / "meta.yaml", run_meta(run, made));
}

// The new one in place of the old one, if there is one.
Status put_in_place(const fs::path& made, const fs::path& place) {
  std::error_code error;
  const fs::path old = made.string() + "-old";
  if (fs::exists(place, error)) fs::rename(place, old, error);
  if (!error) fs::rename(made, place, error);
  if (error) return failure("{}: cannot be put in place: {}", place.string(), error.message());
  fs::remove_all(old, error);
  return {};
}

}  // namespace

Result<MlflowExport> export_to_mlflow(const Store& store, const StoredRun& run, const fs::path& root,
                                      const std::string& experiment) {
  MUSTER_TRY(make_folder(root / ".trash"));
  const std::string experiment_id = experiment_id_of(root, experiment);
  const std::string named = fmt::format("{}/{}", run.id, run.begun_s);
  const std::string run_id = hash_text(named) + hash_text("muster " + named);
  const MlflowExport made{experiment_id, run_id, root / experiment_id / run_id};
  MUSTER_TRY(write_experiment(root / experiment_id, experiment_id, experiment, run.begun_s * 1000));
  const fs::path temporary = root / fmt::format(".muster-{}-{}", ::getpid(), run_id);
  Status written = write_run(store, run, made, temporary);
  if (written) written = put_in_place(temporary, made.folder);
  std::error_code ignored;
  fs::remove_all(temporary, ignored);
  if (!written) return std::move(written).error();
  return made;
}

}  // namespace muster
