#include "clients/state_versions.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "base/file.h"
#include "base/hash.h"

namespace muster {
namespace {

constexpr std::string_view kMagic = "musterS1";
constexpr std::uint64_t kMostBytes = std::uint64_t{16} << 30;

void put(std::string& out, std::uint64_t value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}
  std::optional<std::uint64_t> number() {
    std::uint64_t value = 0;
    if (!copy(&value, sizeof value)) return std::nullopt;
    return value;
  }
  bool copy(void* into, std::size_t bytes) {
    if (bytes > bytes_.size()) return false;
    if (bytes > 0) std::memcpy(into, bytes_.data(), bytes);
    bytes_.remove_prefix(bytes);
    return true;
  }
  [[nodiscard]] std::size_t left() const { return bytes_.size(); }

 private:
  std::string_view bytes_;
};

std::optional<StateVersion> version_of(const std::string& name) {
  StateVersion version;
  const char* const end = name.data() + name.size();
  const auto [dash, error] = std::from_chars(name.data(), end, version.round);
  if (error != std::errc() || dash == end || *dash != '-') return std::nullopt;
  const auto [dot, error_in_part] = std::from_chars(dash + 1, end, version.part);
  if (error_in_part != std::errc() || std::string_view(dot, end) != ".state") return std::nullopt;
  return version;
}

}  // namespace

StateVersions::StateVersions(ClientStates& states, std::span<const std::uint8_t> slots, std::filesystem::path folder)
    : states_(states), slots_(slots.begin(), slots.end()), folder_(std::move(folder)) {}

std::filesystem::path StateVersions::path_of(ClientId client, StateVersion version) const {
  return folder_ / std::to_string(client.value) / fmt::format("{}-{}.state", version.round, version.part);
}

// Slots and their values, then a checksum of all that comes before it.
Result<std::string> StateVersions::packed(ClientId client) const {
  std::string out(kMagic);
  bool any = false;
  for (const std::uint8_t slot : slots_) {
    const std::optional<std::size_t> size = states_.size_of(client, slot);
    if (!size) continue;
    any = true;
    std::vector<float> values(*size);
    MUSTER_TRY(states_.get(client, slot, values));
    put(out, slot);
    put(out, values.size());
    out.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
  }
  if (!any) return std::string();
  put(out, hash_bytes(out.data(), out.size()));
  return out;
}

Status StateVersions::unpack(ClientId client, std::string_view bytes, const std::string& from) {
  const auto damaged = [&] { return failure("{}: the state of client {} is damaged", from, client.value); };
  if (bytes.size() < kMagic.size() + sizeof(std::uint64_t) || bytes.substr(0, kMagic.size()) != kMagic)
    return damaged();
  std::uint64_t checksum = 0;
  const std::string_view content = bytes.substr(0, bytes.size() - sizeof checksum);
  std::memcpy(&checksum, bytes.data() + content.size(), sizeof checksum);
  if (hash_bytes(content.data(), content.size()) != checksum) return damaged();
  Reader in(content.substr(kMagic.size()));
  while (in.left() > 0) {
    const std::optional<std::uint64_t> slot = in.number();
    const std::optional<std::uint64_t> size = in.number();
    if (!slot || !size || *size > in.left() / sizeof(float)) return damaged();
    if (std::ranges::find(slots_, *slot) == slots_.end()) return damaged();
    std::vector<float> values(*size);
    if (!in.copy(values.data(), values.size() * sizeof(float))) return damaged();
    MUSTER_TRY(states_.put(client, static_cast<std::uint8_t>(*slot), values));
  }
  return {};
}

void StateVersions::forget(ClientId client) {
  for (const std::uint8_t slot : slots_) states_.forget(client, slot);
}

std::vector<StateVersion> StateVersions::stored(ClientId client) const {
  std::vector<StateVersion> found;
  if (folder_.empty()) {
    const std::lock_guard lock(mutex_);
    const auto known = in_memory_.find(client.value);
    if (known == in_memory_.end()) return found;
    for (const auto& [version, bytes] : known->second) found.push_back(version);
    return found;
  }
  std::error_code error;
  for (const auto& file : std::filesystem::directory_iterator(folder_ / std::to_string(client.value), error)) {
    if (const auto version = version_of(file.path().filename().string())) found.push_back(*version);
  }
  return found;
}

// What the client holds is not known until this has come to an end.
Status StateVersions::load(ClientId client, StateVersion version) {
  spoil(client);
  forget(client);
  if (version == StateVersion{}) return {};
  if (!folder_.empty()) {
    const std::filesystem::path path = path_of(client, version);
    MUSTER_ASSIGN(const std::vector<std::uint8_t> bytes, read_file(path, kMostBytes));
    return unpack(client, {reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path.string());
  }
  std::string bytes;
  {
    const std::lock_guard lock(mutex_);
    bytes = in_memory_[client.value][version];
  }
  return unpack(client, bytes, fmt::format("round {}", version.round));
}

void StateVersions::remove(ClientId client, StateVersion version) {
  if (!folder_.empty()) {
    std::error_code ignored;  // it costs room, and is tried again next time
    std::filesystem::remove(path_of(client, version), ignored);
    return;
  }
  const std::lock_guard lock(mutex_);
  in_memory_[client.value].erase(version);
}

Status StateVersions::recall(ClientId client, StateVersion version) {
  {
    const std::lock_guard lock(mutex_);
    const auto known = current_.find(client.value);
    if (known != current_.end() && known->second == version) return {};
  }
  MUSTER_TRY(load(client, version));
  const std::lock_guard lock(mutex_);
  current_[client.value] = version;
  return {};
}

void StateVersions::prune(ClientId client, const Memory& memory) {
  for (const StateVersion version : stored(client)) {
    if (version < memory.basis && std::ranges::find(memory.keep, version) == memory.keep.end()) {
      remove(client, version);
    }
  }
}

void StateVersions::spoil(ClientId client) {
  const std::lock_guard lock(mutex_);
  current_.erase(client.value);
}

Result<bool> StateVersions::keep(ClientId client, StateVersion version) {
  MUSTER_ASSIGN(std::string bytes, packed(client));
  if (bytes.empty()) return false;
  if (!folder_.empty()) {
    const std::filesystem::path path = path_of(client, version);
    MUSTER_TRY(make_folder(path.parent_path()));
    MUSTER_TRY(write_file(path, bytes));
  }
  const std::lock_guard lock(mutex_);
  if (folder_.empty()) in_memory_[client.value][version] = std::move(bytes);
  current_[client.value] = version;
  return true;
}

}  // namespace muster
