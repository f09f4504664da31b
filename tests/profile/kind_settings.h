// Every kind of profile in the catalogue: with its defaults, and with each of its keys set.
#pragma once

#include <algorithm>
#include <cctype>
#include <ostream>

#include "profile/profile.h"

namespace muster {

struct KindSetting {
  std::string name;  // for the test's name
  ProfileOptions options;
};
inline void PrintTo(const KindSetting& setting, std::ostream* out) {
  *out << setting.name;
}

inline std::vector<KindSetting> kind_settings() {
  struct Key {
    std::string name;
    std::function<void(ProfileOptions&)> set;
  };
  const std::vector<Key> keys{
      {"epsilon", [](ProfileOptions& o) { o.epsilon = 0.3; }},
      {"steps", [](ProfileOptions& o) { o.steps = 2; }},
      {"epochs", [](ProfileOptions& o) { o.epochs = 3; }},
      {"layers", [](ProfileOptions& o) { o.layers = "all"; }},
      {"bias", [](ProfileOptions& o) { o.bias = true; }},
      {"variance", [](ProfileOptions& o) { o.variance = 0.9; }},
      {"form", [](ProfileOptions& o) { o.form = "softmax"; }},
  };
  std::vector<KindSetting> settings;
  for (const ProfileEntry& entry : profile_kinds()) {
    settings.push_back({entry.name, {.kind = entry.name}});
    for (const std::string& name : entry.keys) {
      const auto key = std::find_if(keys.begin(), keys.end(), [&](const Key& k) { return k.name == name; });
      EXPECT_NE(key, keys.end()) << "no value here for the key " << name;
      if (key == keys.end()) continue;
      settings.push_back({entry.name + " with " + name, {.kind = entry.name}});
      key->set(settings.back().options);
    }
  }
  return settings;
}

inline std::string name_of_setting(const ::testing::TestParamInfo<KindSetting>& info) {
  std::string name = info.param.name;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
  return name;
}

}  // namespace muster
