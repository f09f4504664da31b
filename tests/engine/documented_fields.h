// The fields of a run's files, as docs/files.md names them, and as JSON has them.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <string>

namespace muster {

using FieldsOfFiles = std::map<std::string, std::set<std::string>>;  // by file

// Names in back quotes of the first cells, below each heading that names a file.
inline FieldsOfFiles documented_fields() {
  std::ifstream in(std::filesystem::path(MUSTER_SOURCE_DIR) / "docs/files.md");
  EXPECT_TRUE(in);
  FieldsOfFiles fields;
  std::string file;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("## ")) {
      file = line.starts_with("## `") ? line.substr(4, line.find('`', 4) - 4) : "";
    } else if (!file.empty() && line.starts_with("| `")) {
      const std::string cell = line.substr(0, line.find(" | "));
      const std::regex name("`([^`]+)`");
      for (std::sregex_iterator found(cell.begin(), cell.end(), name); found != std::sregex_iterator(); ++found) {
        fields[file].insert((*found)[1]);
      }
    }
  }
  return fields;
}

inline void add_fields(const nlohmann::json& value, const std::string& name, std::set<std::string>& fields) {
  if (value.is_object()) {
    for (const auto& [key, inner] : value.items()) add_fields(inner, name.empty() ? key : name + "." + key, fields);
  } else if (value.is_array()) {
    for (const nlohmann::json& inner : value) add_fields(inner, name + "[]", fields);
  } else {
    fields.insert(name);
  }
}

}  // namespace muster
