// Reads the text format of Prometheus strictly: whatever breaks a rule of it fails the test. The rules are those of the
// format's description, version 0.0.4; in addition every family has HELP, TYPE and the prefix muster_.
#pragma once

#include <gtest/gtest.h>

#include <cctype>
#include <map>
#include <set>
#include <sstream>
#include <string>

namespace muster {

// Value by sample, written as name{label="value",...} with labels unescaped and in their order.
inline std::map<std::string, double> read_prometheus(const std::string& text) {
  std::map<std::string, double> samples;
  std::map<std::string, std::string> types;
  std::set<std::string> helped;
  const auto is_name = [](const std::string& word) {
    bool good = !word.empty() && !std::isdigit(static_cast<unsigned char>(word[0]));
    for (const char c : word) good = good && (std::isalnum(static_cast<unsigned char>(c)) || c == '_');
    return good;
  };
  EXPECT_TRUE(text.empty() || text.back() == '\n');
  std::string family;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    SCOPED_TRACE(line);
    if (line.starts_with("# ")) {
      std::istringstream words(line.substr(2));
      std::string kind, name, rest;
      words >> kind >> name;
      std::getline(words, rest);
      EXPECT_TRUE(is_name(name) && name.starts_with("muster_"));
      EXPECT_GT(rest.size(), 1u);
      if (kind == "HELP") {
        EXPECT_TRUE(helped.insert(name).second) << "twice";
      } else {
        EXPECT_EQ(kind, "TYPE");
        EXPECT_TRUE(types.emplace(name, rest.substr(1)).second) << "twice";
        EXPECT_EQ(rest == " counter", name.ends_with("_total"));
        EXPECT_TRUE(rest == " counter" || rest == " gauge");
      }
      family = name;
      continue;
    }
    std::size_t at = line.find_first_of("{ ");
    EXPECT_NE(at, std::string::npos);
    if (at == std::string::npos) continue;
    std::string key = line.substr(0, at);
    EXPECT_EQ(key, family) << "a sample apart from its family";
    EXPECT_TRUE(types.contains(key) && helped.contains(key));
    if (line[at] == '{') {
      key += '{';
      for (++at; at < line.size() && line[at] != '}';) {
        const std::size_t equals = line.find("=\"", at);
        EXPECT_NE(equals, std::string::npos);
        if (equals == std::string::npos) return samples;
        EXPECT_TRUE(is_name(line.substr(at, equals - at)));
        key += line.substr(at, equals - at) + "=\"";
        for (at = equals + 2; at < line.size() && line[at] != '"'; ++at) {
          if (line[at] == '\\') {
            ++at;
            EXPECT_TRUE(at < line.size() && (line[at] == '\\' || line[at] == '"' || line[at] == 'n'));
            key += line[at] == 'n' ? '\n' : line[at];
          } else {
            key += line[at];
          }
        }
        key += '"';
        if (++at < line.size() && line[at] == ',') {
          key += ',';
          ++at;
        } else {
          EXPECT_TRUE(at < line.size() && line[at] == '}');
        }
      }
      key += '}';
      ++at;
    }
    EXPECT_TRUE(at < line.size() && line[at] == ' ');
    const std::string number = line.substr(std::min(at + 1, line.size()));
    std::size_t used = 0;
    double value = 0;
    try {
      value = std::stod(number, &used);
    } catch (const std::exception&) {
    }
    EXPECT_TRUE(used == number.size() && used > 0) << "not a number: " << number;
    EXPECT_TRUE(samples.emplace(key, value).second) << "twice";
  }
  return samples;
}

}  // namespace muster
