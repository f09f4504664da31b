#include "clients/client_state.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <list>
#include <mutex>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "clients/state_log.h"

namespace muster {
namespace {

constexpr std::string_view kMagic = "MUSTERCS";
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kManifestsKept = 3;
enum class ManifestKind : std::uint32_t { kValues = 0, kIndex = 1 };

using Index = std::vector<std::pair<std::uint64_t, LogPlace>>;

std::uint64_t key_of(ClientId client, std::uint8_t slot) {
  return std::uint64_t{client.value} << 8 | slot;
}

std::string describe(std::uint64_t key) {
  return fmt::format("client {}, slot {}", key >> 8, key & 0xff);
}

template <typename T>
void append_value(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// Takes values off the front of a manifest; every take is checked against what is left.
class Bytes {
 public:
  explicit Bytes(std::string_view bytes) : rest_(bytes) {}

  template <typename T>
  [[nodiscard]] bool take(T& value) {
    return take_into(&value, sizeof value);
  }
  [[nodiscard]] bool take_into(void* out, std::size_t bytes) {
    if (rest_.size() < bytes) return false;
    if (bytes > 0) std::memcpy(out, rest_.data(), bytes);
    rest_.remove_prefix(bytes);
    return true;
  }
  [[nodiscard]] std::size_t left() const { return rest_.size(); }

 private:
  std::string_view rest_;
};

}  // namespace

class ClientStates::Store {
 public:
  explicit Store(const ClientStateOptions& options)
      : limit_(options.memory_limit_bytes),
        on_disk_(!options.folder.empty()),
        log_(options.folder, options.log_file_bytes) {}

  Result<bool> get(std::uint64_t key, std::span<float> out);
  Status put(std::uint64_t key, std::span<const float> values);
  std::optional<std::size_t> size_of(std::uint64_t key) const;
  void forget(std::uint64_t key);
  Result<std::string> save();
  Status restore(std::string_view manifest);

  std::size_t size() const {
    const std::scoped_lock lock(mutex_);
    return states_.size();
  }
  std::uint64_t memory_bytes() const {
    const std::scoped_lock lock(mutex_);
    return memory_bytes_;
  }
  std::uint64_t spilled_bytes() const {
    const std::scoped_lock lock(mutex_);
    return spilled_bytes_;
  }

 private:
  // In memory, in the log, or both with equal values.
  struct State {
    std::vector<float> values;
    LogPlace place;
    std::list<std::uint64_t>::iterator use;
    bool resident = false;
    bool logged = false;
  };
  using States = std::unordered_map<std::uint64_t, State>;

  static std::uint64_t bytes_of(std::size_t count) { return std::uint64_t{count} * sizeof(float); }
  void hold(std::uint64_t key, State& state, std::span<const float> values);
  void drop(State& state);
  Status log(std::uint64_t key, State& state);
  Status evict();
  Status compact();
  void remove_unneeded();
  std::vector<std::uint64_t> sorted_keys() const;
  std::string values_manifest() const;
  std::string index_manifest();
  Status restore_values(Bytes& bytes, std::uint64_t count);
  Status restore_index(Bytes& bytes, std::uint64_t count);
  void remember(const Index& index);

  const std::uint64_t limit_;
  const bool on_disk_;
  mutable std::mutex mutex_;
  StateLog log_;
  States states_;
  std::list<std::uint64_t> uses_;  // resident states, most recently used first
  std::uint64_t memory_bytes_ = 0;
  std::uint64_t spilled_bytes_ = 0;
  std::deque<std::set<std::uint32_t>> needed_;  // log files of the last manifests, newest first
};

void ClientStates::Store::hold(std::uint64_t key, State& state, std::span<const float> values) {
  state.values.assign(values.begin(), values.end());
  uses_.push_front(key);
  state.use = uses_.begin();
  state.resident = true;
  memory_bytes_ += bytes_of(values.size());
}

void ClientStates::Store::drop(State& state) {
  memory_bytes_ -= bytes_of(state.values.size());
  uses_.erase(state.use);
  std::vector<float>().swap(state.values);
  state.resident = false;
}

Result<bool> ClientStates::Store::get(std::uint64_t key, std::span<float> out) {
  LogPlace place;
  Descriptor file;
  std::string name;
  {
    const std::scoped_lock lock(mutex_);
    const auto found = states_.find(key);
    if (found == states_.end()) return false;
    State& state = found->second;
    const std::size_t stored = state.resident ? state.values.size() : state.place.count;
    if (stored != out.size()) {
      return failure("the state of {} has {} values, want {}", describe(key), stored, out.size());
    }
    if (state.resident) {
      std::copy(state.values.begin(), state.values.end(), out.begin());
      uses_.splice(uses_.begin(), uses_, state.use);
      return true;
    }
    place = state.place;
    name = log_.name(place.file);
    MUSTER_ASSIGN(file, log_.open(place.file));
  }
  // Unlocked: other clients need not wait for the disk.
  MUSTER_TRY(StateLog::read(file, name, key, place, out));
  const std::scoped_lock lock(mutex_);
  const auto found = states_.find(key);
  // Kept only where it displaces nothing: the put that usually follows would displace it again.
  if (found != states_.end() && !found->second.resident && found->second.place == place &&
      memory_bytes_ + bytes_of(out.size()) <= limit_) {
    hold(key, found->second, out);
    spilled_bytes_ -= bytes_of(out.size());
  }
  return true;
}

Status ClientStates::Store::put(std::uint64_t key, std::span<const float> values) {
  const std::scoped_lock lock(mutex_);
  State& state = states_[key];
  if (state.logged) {
    if (!state.resident) spilled_bytes_ -= bytes_of(state.place.count);
    log_.release(state.place);
    state.logged = false;
  }
  if (state.resident) {
    memory_bytes_ -= bytes_of(state.values.size());
    uses_.erase(state.use);
  }
  hold(key, state, values);
  return evict();
}

std::optional<std::size_t> ClientStates::Store::size_of(std::uint64_t key) const {
  const std::scoped_lock lock(mutex_);
  const auto found = states_.find(key);
  if (found == states_.end()) return std::nullopt;
  return found->second.resident ? found->second.values.size() : found->second.place.count;
}

void ClientStates::Store::forget(std::uint64_t key) {
  const std::scoped_lock lock(mutex_);
  const auto found = states_.find(key);
  if (found == states_.end()) return;
  State& state = found->second;
  if (state.logged) log_.release(state.place);
  if (state.logged && !state.resident) spilled_bytes_ -= bytes_of(state.place.count);
  if (state.resident) drop(state);
  states_.erase(found);
}

Status ClientStates::Store::log(std::uint64_t key, State& state) {
  MUSTER_ASSIGN(state.place, log_.append(key, state.values));
  state.logged = true;
  return {};
}

Status ClientStates::Store::evict() {
  if (!on_disk_) return {};
  while (memory_bytes_ > limit_) {
    const std::uint64_t key = uses_.back();
    State& state = states_.at(key);
    if (!state.logged) MUSTER_TRY(log(key, state));
    spilled_bytes_ += bytes_of(state.values.size());
    drop(state);
  }
  // Also between saves, so that a run without checkpoints does not fill the disk.
  if (log_.take_filled()) {
    MUSTER_TRY(compact());
    remove_unneeded();
  }
  return {};
}

// Moves what is live out of files that are mostly dead. The old records stay until no manifest needs them.
Status ClientStates::Store::compact() {
  const std::vector<std::uint32_t> sparse = log_.sparse_files();
  if (sparse.empty()) return {};
  Index moving;
  for (const auto& [key, state] : states_) {
    if (state.logged && std::binary_search(sparse.begin(), sparse.end(), state.place.file)) {
      moving.emplace_back(key, state.place);
    }
  }
  std::sort(moving.begin(), moving.end(), [](const auto& a, const auto& b) {
    return std::tie(a.second.file, a.second.offset) < std::tie(b.second.file, b.second.offset);
  });
  std::vector<float> scratch;
  Descriptor file;
  std::uint32_t opened = 0;
  for (const auto& [key, place] : moving) {
    State& state = states_.at(key);
    std::span<const float> values = state.values;
    if (!state.resident) {
      if (!file.open() || opened != place.file) {
        MUSTER_ASSIGN(file, log_.open(place.file));
        opened = place.file;
      }
      scratch.resize(place.count);
      MUSTER_TRY(StateLog::read(file, log_.name(place.file), key, place, scratch));
      values = scratch;
    }
    MUSTER_ASSIGN(state.place, log_.append(key, values));
    log_.release(place);
  }
  return {};
}

void ClientStates::Store::remove_unneeded() {
  std::set<std::uint32_t> needed;
  for (const auto& files : needed_) needed.insert(files.begin(), files.end());
  // Before as many manifests are known, an unknown earlier one may still be in the newest checkpoints.
  log_.remove_unneeded(needed, needed_.size() >= kManifestsKept);
}

void ClientStates::Store::remember(const Index& index) {
  std::set<std::uint32_t> files;
  for (const auto& [key, place] : index) files.insert(place.file);
  needed_.push_front(std::move(files));
  if (needed_.size() > kManifestsKept) needed_.pop_back();
}

std::vector<std::uint64_t> ClientStates::Store::sorted_keys() const {
  std::vector<std::uint64_t> keys;
  keys.reserve(states_.size());
  for (const auto& [key, state] : states_) keys.push_back(key);
  std::sort(keys.begin(), keys.end());
  return keys;
}

namespace {

std::string manifest_header(ManifestKind kind, std::size_t states) {
  std::string out(kMagic);
  append_value(out, kVersion);
  append_value(out, kind);
  append_value(out, std::uint64_t{states});
  return out;
}

}  // namespace

std::string ClientStates::Store::values_manifest() const {
  std::string out = manifest_header(ManifestKind::kValues, states_.size());
  out.reserve(out.size() + memory_bytes_ + states_.size() * 16 + 8);
  for (const std::uint64_t key : sorted_keys()) {
    const std::vector<float>& values = states_.at(key).values;
    append_value(out, key);
    append_value(out, std::uint64_t{values.size()});
    out.append(reinterpret_cast<const char*>(values.data()), bytes_of(values.size()));
  }
  append_value(out, hash_bytes(out.data(), out.size()));
  return out;
}

std::string ClientStates::Store::index_manifest() {
  std::string out = manifest_header(ManifestKind::kIndex, states_.size());
  out.reserve(out.size() + states_.size() * 24 + 8);
  Index index;
  index.reserve(states_.size());
  for (const std::uint64_t key : sorted_keys()) {
    const LogPlace& place = states_.at(key).place;
    index.emplace_back(key, place);
    append_value(out, key);
    append_value(out, place.file);
    append_value(out, place.count);
    append_value(out, place.offset);
  }
  append_value(out, hash_bytes(out.data(), out.size()));
  remember(index);
  return out;
}

Result<std::string> ClientStates::Store::save() {
  const std::scoped_lock lock(mutex_);
  if (!on_disk_) return values_manifest();
  for (const std::uint64_t key : sorted_keys()) {
    State& state = states_.at(key);
    if (!state.logged) MUSTER_TRY(log(key, state));
  }
  log_.take_filled();
  MUSTER_TRY(compact());
  MUSTER_TRY(log_.sync());
  std::string manifest = index_manifest();
  remove_unneeded();
  return manifest;
}

Status ClientStates::Store::restore(std::string_view manifest) {
  constexpr std::size_t kChecksumBytes = sizeof(std::uint64_t);
  Bytes bytes(manifest.substr(0, manifest.size() - std::min(manifest.size(), kChecksumBytes)));
  char magic[8] = {};
  std::uint32_t version = 0;
  ManifestKind kind = ManifestKind::kValues;
  std::uint64_t count = 0;
  if (!bytes.take(magic) || std::string_view(magic, sizeof magic) != kMagic || !bytes.take(version) ||
      !bytes.take(kind) || !bytes.take(count)) {
    return failure("client states: not a manifest");
  }
  if (version != kVersion) return failure("client states: manifest of version {}, want {}", version, kVersion);
  std::uint64_t checksum = 0;
  std::memcpy(&checksum, manifest.data() + manifest.size() - kChecksumBytes, kChecksumBytes);
  if (checksum != hash_bytes(manifest.data(), manifest.size() - kChecksumBytes)) {
    return failure("client states: the manifest is corrupt");
  }
  const std::scoped_lock lock(mutex_);
  if (kind == ManifestKind::kValues) return restore_values(bytes, count);
  if (kind == ManifestKind::kIndex) return restore_index(bytes, count);
  return failure("client states: manifest of kind {}, want 0 or 1", static_cast<std::uint32_t>(kind));
}

Status ClientStates::Store::restore_values(Bytes& bytes, std::uint64_t count) {
  std::vector<std::pair<std::uint64_t, std::vector<float>>> read;
  for (std::uint64_t i = 0; i < count; ++i) {
    std::uint64_t key = 0;
    std::uint64_t values = 0;
    if (!bytes.take(key) || !bytes.take(values) || values > bytes.left() / sizeof(float)) {
      return failure("client states: the manifest ends inside state {} of {}", i, count);
    }
    if (!read.empty() && key <= read.back().first) return failure("client states: the manifest is not in order");
    auto& state = read.emplace_back(key, std::vector<float>(values));
    if (!bytes.take_into(state.second.data(), bytes_of(values))) {
      return failure("client states: the manifest ends inside state {} of {}", i, count);
    }
  }
  if (bytes.left() != 0) return failure("client states: the manifest has {} bytes too many", bytes.left());
  states_.clear();
  uses_.clear();
  memory_bytes_ = spilled_bytes_ = 0;
  needed_.clear();
  log_.adopt({});
  for (const auto& [key, values] : read) hold(key, states_[key], values);
  return {};
}

Status ClientStates::Store::restore_index(Bytes& bytes, std::uint64_t count) {
  if (!on_disk_) return failure("client states: the manifest names a log, but no folder is given to find it in");
  if (bytes.left() / 24 != count || bytes.left() % 24 != 0) {
    return failure("client states: the manifest has {} bytes of index for {} states", bytes.left(), count);
  }
  Index index(count);
  for (auto& [key, place] : index) {
    if (!bytes.take(key) || !bytes.take(place.file) || !bytes.take(place.count) || !bytes.take(place.offset)) {
      return failure("client states: the manifest is cut short");
    }
  }
  const auto same_or_later = [](const auto& a, const auto& b) { return a.first >= b.first; };
  if (std::adjacent_find(index.begin(), index.end(), same_or_later) != index.end()) {
    return failure("client states: the manifest is not in order");
  }
  std::sort(index.begin(), index.end(), [](const auto& a, const auto& b) {
    return std::tie(a.second.file, a.second.offset) < std::tie(b.second.file, b.second.offset);
  });
  MUSTER_TRY(log_.verify(index));
  states_.clear();
  uses_.clear();
  memory_bytes_ = spilled_bytes_ = 0;
  needed_.clear();
  log_.adopt(index);
  for (const auto& [key, place] : index) {
    State& state = states_[key];
    state.place = place;
    state.logged = true;
    spilled_bytes_ += bytes_of(place.count);
  }
  remember(index);
  return {};
}

ClientStates::ClientStates(const ClientStateOptions& options) : store_(std::make_unique<Store>(options)) {}
ClientStates::~ClientStates() = default;

Result<bool> ClientStates::get(ClientId client, std::uint8_t slot, std::span<float> out) {
  return store_->get(key_of(client, slot), out);
}

Status ClientStates::put(ClientId client, std::uint8_t slot, std::span<const float> values) {
  return store_->put(key_of(client, slot), values);
}

std::optional<std::size_t> ClientStates::size_of(ClientId client, std::uint8_t slot) const {
  return store_->size_of(key_of(client, slot));
}
void ClientStates::forget(ClientId client, std::uint8_t slot) {
  store_->forget(key_of(client, slot));
}
std::size_t ClientStates::size() const {
  return store_->size();
}
std::uint64_t ClientStates::memory_bytes() const {
  return store_->memory_bytes();
}
std::uint64_t ClientStates::spilled_bytes() const {
  return store_->spilled_bytes();
}
Result<std::string> ClientStates::save() {
  return store_->save();
}
Status ClientStates::restore(std::string_view manifest) {
  return store_->restore(manifest);
}

}  // namespace muster
