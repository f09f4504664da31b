#include "engine/saved_recipe.h"

#include <map>
#include <set>
#include <sstream>

#include "recipe/toml_text.h"
#include "record/checkpoint.h"

namespace muster {
namespace {

// "section.key" -> value, of a recipe as format_recipe() writes it; without what may change when a run is resumed.
std::map<std::string, std::string> lasting_keys(const std::string& toml) {
  std::map<std::string, std::string> keys;
  std::istringstream in(toml);
  std::string section;
  for (std::string line; std::getline(in, line);) {
    const auto equals = line.find(" = ");
    if (line.starts_with("[")) {
      section = line.substr(1, line.find(']') - 1) + ".";
    } else if (equals != std::string::npos && !line.starts_with("#")) {
      keys[section + line.substr(0, equals)] = line.substr(equals + 3);
    }
  }
  for (const std::string_view key : resumable_keys()) keys.erase(std::string(key));
  return keys;
}

}  // namespace

Status check_same_recipe(const std::string& saved, const Recipe& now) {
  const std::map<std::string, std::string> before = lasting_keys(saved);
  const std::map<std::string, std::string> after = lasting_keys(format_recipe(now));
  std::set<std::string> names;
  for (const auto* const keys : {&before, &after}) {
    for (const auto& [key, value] : *keys) names.insert(key);
  }
  const auto text = [](const std::map<std::string, std::string>& keys, const std::string& key) {
    const auto found = keys.find(key);
    return found == keys.end() ? std::string("not set") : shown_name(found->second);
  };
  for (const std::string& key : names) {
    const auto old = before.find(key);
    const auto given = after.find(key);
    if (old != before.end() && given != after.end() && old->second == given->second) continue;
    return usage_error("recipe.toml: {} is {}, but the run began with {}; a resumed run keeps its recipe",
                       shown_name(key), text(after, key), text(before, key));
  }
  return {};
}

Status check_saved_recipe(const std::filesystem::path& checkpoints, const Recipe& now) {
  for (const std::filesystem::path& file : list_checkpoints(checkpoints)) {
    const Result<Checkpoint> checkpoint = read_checkpoint(file);
    const auto saved = checkpoint ? checkpoint->get_string("recipe") : Result<std::string>(checkpoint.error());
    if (saved) return check_same_recipe(*saved, now);
  }
  return {};
}

}  // namespace muster
