#include "engine/known_runs.h"

#include <algorithm>
#include <sstream>

#include "base/file.h"
#include "base/hash.h"

namespace muster {
namespace {

constexpr std::uint64_t kMostRecipeBytes = std::uint64_t{1} << 20;

std::string hash_of(const std::string& toml) {
  Hasher hasher;
  std::istringstream in(toml);
  bool top_level = true;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("[")) top_level = false;
    if (top_level && (line.starts_with("name = ") || line.starts_with("summary = "))) continue;
    hasher.add(line);
    hasher.add("\n");
  }
  return hex16(hasher.digest());
}

}  // namespace

std::string recipe_hash(const Recipe& recipe) {
  return hash_of(format_recipe(recipe));
}

KnownRuns::KnownRuns(const std::filesystem::path& out) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(out, error)) {
    std::error_code ignored;
    const std::filesystem::path file = entry.path() / "recipe.toml";
    if (!std::filesystem::is_regular_file(file, ignored)) continue;
    const auto bytes = read_file(file, kMostRecipeBytes);
    if (!bytes) continue;
    folders_.emplace(hash_of({reinterpret_cast<const char*>(bytes->data()), bytes->size()}), entry.path());
  }
}

std::vector<std::filesystem::path> KnownRuns::of(const Recipe& recipe) const {
  std::vector<std::filesystem::path> found;
  const auto [first, last] = folders_.equal_range(recipe_hash(recipe));
  for (auto it = first; it != last; ++it) found.push_back(it->second);
  std::ranges::sort(found);
  return found;
}

}  // namespace muster
