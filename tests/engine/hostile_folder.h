// A run's folder as somebody else may have left it: one thing in it is not what Muster wrote. Bytes decide what, so
// that a fuzzer can choose them as well as a test. Knows nothing of GoogleTest.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/hash.h"
#include "data/catalogue.h"
#include "engine/simulation.h"
#include "recipe/keys.h"
#include "record/checkpoint.h"
#include "record/weights_file.h"

namespace muster {

// A run of a few milliseconds that every composition (compositions.h) can be put on.
inline const std::vector<std::string> kTiny{"data.source=synthetic",   "data.clients=12",        "data.samples-min=20",
                                            "data.samples-max=40",     "data.test-fraction=0.2", "model.name=mlp",
                                            "model.hidden=[8]",        "local.batch-size=16",    "rounds=4",
                                            "local.learning-rate=0.1", "plan.sample-clients=5",  "checkpoint-every=1"};

// Path below the folder -> content.
using FolderContent = std::map<std::string, std::string>;

inline FolderContent read_folder(const std::filesystem::path& folder) {
  FolderContent content;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream in(entry.path(), std::ios::binary);
    content[entry.path().lexically_relative(folder).string()] = {std::istreambuf_iterator<char>(in), {}};
  }
  return content;
}

inline void write_folder(const std::filesystem::path& folder, const FolderContent& content) {
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  for (const auto& [name, bytes] : content) {
    std::filesystem::create_directories((folder / name).parent_path());
    std::ofstream(folder / name, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }
}

// Takes decisions off the front of some bytes; when they are used up every decision is 0.
class Choices {
 public:
  explicit Choices(std::span<const std::uint8_t> bytes) : rest_(bytes) {}
  std::size_t below(std::size_t count) { return count > 0 ? word() % count : 0; }
  bool chance(std::size_t in_how_many) { return below(in_how_many) == 1; }
  template <typename T>
  const T& any(const std::vector<T>& list) {
    return list[below(list.size())];
  }

 private:
  std::uint32_t word() {
    std::uint32_t value = 0;
    for (int i = 0; i < 2 && !rest_.empty(); ++i, rest_ = rest_.subspan(1)) value = value << 8 | rest_[0];
    return value;
  }
  std::span<const std::uint8_t> rest_;
};

class HostileFolder {
 public:
  // `runs`: folders that Muster left, of several recipes, the first of which is spoiled.
  HostileFolder(std::vector<FolderContent> runs, std::span<const std::uint8_t> bytes)
      : content_(runs.front()), others_(std::move(runs)), choices_(bytes) {
    do {
      spoil();
    } while (choices_.chance(4));
  }
  const FolderContent& content() const { return content_; }
  const std::string& done() const { return done_; }  // in words, for whoever reads of a failure

 private:
  void spoil() {
    switch (choices_.below(10)) {
      case 0:
        note("recipe.toml edited");
        return edit_recipe();
      case 1:
        note("recipe.toml edited, checkpoints removed");
        std::erase_if(content_, [](const auto& file) { return file.first.starts_with("checkpoint/"); });
        return edit_recipe();
      case 2:
        note("recipe edited in recipe.toml and in the checkpoints");
        edit_recipe();
        return pretend_same_recipe();
      case 3:
        return adopt_foreign_checkpoint();
      case 4:
      case 5:
      case 6:
        return edit_checkpoint();
      case 7:
        return edit_lines();
      case 8:
        return edit_states();
      default: {
        const auto file = any_file("");
        if (file == content_.end()) return;
        note("bytes of " + file->first);
        return edit_bytes(file->second);
      }
    }
  }

  void note(const std::string& what) { done_ += (done_.empty() ? "" : "; ") + what; }

  FolderContent::iterator any_file(const std::string& below) {
    std::vector<FolderContent::iterator> found;
    for (auto file = content_.begin(); file != content_.end(); ++file) {
      if (file->first.starts_with(below)) found.push_back(file);
    }
    return found.empty() ? content_.end() : found[choices_.below(found.size())];
  }

  static std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::size_t at = 0;
    while (at < text.size()) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      lines.push_back(text.substr(at, end - at));
      at = end + 1;
    }
    return lines;
  }
  static std::string text_of(const std::vector<std::string>& lines) {
    std::string text;
    for (const std::string& line : lines) text += line + '\n';
    return text;
  }

  // A value that some key accepts, or none does.
  std::string any_value(const RecipeKey& key) {
    std::vector<std::string> words{"0",          "1",     "2",   "3",      "7",    "25",    "4294967295", "-1",
                                   "1000000000", "0.5",   "1.0", "0.0",    "1e30", "1e-30", "nan",        "inf",
                                   "true",       "false", "[]",  "[3, 3]", "\"\"", "\"x\"", "{}"};
    std::size_t at = 0;
    const std::string& accepted = key.accepted;
    if (accepted.find(" | ") != std::string::npos) {
      words.clear();
      while (at <= accepted.size()) {
        const std::size_t end = std::min(accepted.find(" | ", at), accepted.size());
        words.push_back('"' + accepted.substr(at, end - at) + '"');
        at = end + 3;
      }
    }
    return choices_.any(words);
  }

  void edit_recipe() {
    std::string& text = content_["recipe.toml"];
    static const std::vector<RecipeKey> keys = recipe_keys();
    const std::size_t how = choices_.below(8);
    std::vector<std::string> lines = lines_of(text);
    if (how == 0) return edit_bytes(text);
    if (how == 1 && !lines.empty()) {
      lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(choices_.below(lines.size())));
      text = text_of(lines);
      return;
    }
    const RecipeKey& key = choices_.any(keys);
    const std::string value = any_value(key);
    note(full_name(key) + " = " + value);
    const std::string header = key.section.empty() ? "" : "[" + key.section + "]";
    auto section = header.empty() ? lines.begin() : std::find(lines.begin(), lines.end(), header);
    if (section == lines.end()) {
      lines.push_back(header);
      section = std::prev(lines.end());
    }
    auto line = section + (header.empty() ? 0 : 1);
    while (line != lines.end() && !line->starts_with("[") && !line->starts_with(key.key + " = ")) ++line;
    const std::string entry = key.key + " = " + value;
    if (line != lines.end() && !line->starts_with("[")) {
      *line = entry;
    } else {
      lines.insert(line, entry);
    }
    text = text_of(lines);
  }

  template <typename Change>
  void change_checkpoints(const Change& change) {
    for (auto& [name, bytes] : content_) {
      if (!name.starts_with("checkpoint/")) continue;
      const auto read = parse_checkpoint({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
      if (!read) continue;
      Checkpoint checkpoint = *read;
      change(checkpoint);
      bytes = bytes_of(checkpoint);
    }
  }

  // As write_checkpoint() writes it, without a disk.
  static std::string bytes_of(const Checkpoint& checkpoint) {
    std::string head("MUSTERCK", 8);
    const auto append = [&](auto value) { head.append(reinterpret_cast<const char*>(&value), sizeof value); };
    append(std::uint32_t{1});
    append(checkpoint.round);
    append(std::uint64_t{0});
    append(static_cast<std::uint32_t>(checkpoint.sections.size()));
    append(std::uint32_t{0});
    std::string contents;
    for (const auto& [name, content] : checkpoint.sections) {
      append(static_cast<std::uint32_t>(name.size()));
      head += name;
      append(std::uint64_t{content.size()});
      append(hash_bytes(content.data(), content.size()));
      contents += content;
    }
    const std::uint64_t bytes = head.size() + sizeof(std::uint64_t) + contents.size();
    std::memcpy(head.data() + 16, &bytes, sizeof bytes);
    append(hash_bytes(head.data(), head.size()));
    return head + contents;
  }

  // The recipe of the folder as the run would save it.
  std::optional<std::string> recipe_text() {
    const auto recipe = parse_recipe(content_["recipe.toml"], "recipe.toml");
    if (!recipe) return std::nullopt;
    return format_recipe(*recipe);
  }
  void pretend_same_recipe() {
    const auto text = recipe_text();
    if (text) change_checkpoints([&](Checkpoint& checkpoint) { checkpoint.put_string("recipe", *text); });
  }

  void adopt_foreign_checkpoint() {
    note("checkpoints, or some of their sections, of another recipe");
    const FolderContent& other = choices_.any(others_);
    const bool whole = choices_.below(2) == 0;
    std::optional<Checkpoint> foreign;
    for (const auto& [name, bytes] : other) {
      if (!name.starts_with("checkpoint/")) continue;
      if (auto read = parse_checkpoint({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()})) {
        foreign = *read;
      }
    }
    if (!foreign || foreign->sections.empty()) return;
    const auto section =
        std::next(foreign->sections.begin(), static_cast<std::ptrdiff_t>(choices_.below(foreign->sections.size())));
    change_checkpoints([&](Checkpoint& checkpoint) {
      if (whole) {
        checkpoint.sections = foreign->sections;
      } else {
        checkpoint.sections[section->first] = section->second;
      }
    });
    pretend_same_recipe();
  }

  void edit_checkpoint() {
    const std::size_t which = choices_.below(1000);
    const std::size_t how = choices_.below(12);
    const std::size_t edit = choices_.below(0x10000);
    const std::uint8_t seed[] = {
        static_cast<std::uint8_t>(edit >> 8),           static_cast<std::uint8_t>(edit),
        static_cast<std::uint8_t>(choices_.below(256)), static_cast<std::uint8_t>(choices_.below(256)),
        static_cast<std::uint8_t>(choices_.below(256)), static_cast<std::uint8_t>(choices_.below(256)),
        static_cast<std::uint8_t>(choices_.below(256)), static_cast<std::uint8_t>(choices_.below(256))};
    bool noted = false;
    change_checkpoints([&](Checkpoint& checkpoint) {
      if (checkpoint.sections.empty()) return;
      const auto section =
          std::next(checkpoint.sections.begin(), static_cast<std::ptrdiff_t>(which % checkpoint.sections.size()));
      if (!std::exchange(noted, true)) note("section " + section->first + " edited by " + std::to_string(how));
      if (how == 0) {
        checkpoint.sections.erase(section);
      } else if (how == 1) {
        section->second =
            std::next(checkpoint.sections.begin(), static_cast<std::ptrdiff_t>(edit % checkpoint.sections.size()))
                ->second;
      } else if (how == 2) {
        checkpoint.round = static_cast<std::uint32_t>(edit % 4 == 0 ? 0xffffffffu : edit % 7);
      } else if (how == 3) {
        checkpoint.sections["aggregator.x" + std::to_string(edit % 3)] = section->second;
      } else {
        const Choices outer = std::exchange(choices_, Choices(seed));
        edit_bytes(section->second);
        choices_ = outer;
      }
    });
  }

  void edit_lines() {
    const auto file = content_.find(choices_.below(2) == 0 ? "rounds.jsonl" : "groups.jsonl");
    if (file == content_.end()) return;
    note("lines of " + file->first);
    std::vector<std::string> lines = lines_of(file->second);
    const auto at = lines.begin() + static_cast<std::ptrdiff_t>(choices_.below(lines.size() + 1));
    const std::vector<std::string> strange{"",
                                           "1",
                                           "null",
                                           "[]",
                                           "{\"round\": -1}",
                                           "{\"round\": 1e99}",
                                           "{\"round\": 18446744073709551615}",
                                           "{\"round\": \"1\"}",
                                           "{\"round\": 1, \"x\": \"\xff\xfe\"}",
                                           "{\"round\": 1}",
                                           std::string("\0\0", 2),
                                           std::string(100'000, '['),
                                           "{\"round\":" + std::string(5'000, '[') + std::string(5'000, ']') + "}"};
    switch (choices_.below(4)) {
      case 0:
        if (at != lines.end()) lines.erase(at);
        break;
      case 1:
        lines.insert(at, choices_.any(strange));
        break;
      case 2:
        content_.erase(file);
        return;
      default:
        return edit_bytes(file->second);
    }
    file->second = text_of(lines);
  }

  void edit_states() {
    if (choices_.below(2) == 0) {
      const auto file = any_file("states/");
      if (file == content_.end()) return;
      note("bytes of " + file->first);
      return choices_.below(4) == 0 ? void(content_.erase(file)) : edit_bytes(file->second);
    }
    note("the list of client states edited");
    const std::size_t word = choices_.below(0x10000);
    const std::uint64_t value = any_number();
    change_checkpoints([&](Checkpoint& checkpoint) {
      std::string& manifest = checkpoint.sections["states"];
      if (manifest.size() < 16) return;
      const std::size_t words = manifest.size() / 4 - 4;
      std::memcpy(manifest.data() + 8 + word % words * 4, &value, word % 2 == 0 ? 4 : 8);
      const std::uint64_t hash = hash_bytes(manifest.data(), manifest.size() - 8);
      std::memcpy(manifest.data() + manifest.size() - 8, &hash, sizeof hash);
    });
  }

  std::uint64_t any_number() {
    const auto bits = [](auto value) {
      std::uint64_t word = 0;
      std::memcpy(&word, &value, sizeof value);
      return word;
    };
    const std::vector<std::uint64_t> numbers{0,
                                             1,
                                             2,
                                             3,
                                             12,
                                             255,
                                             0xffffffffu,
                                             ~std::uint64_t{0},
                                             std::uint64_t{1} << 63,
                                             bits(1e300),
                                             bits(-1e300),
                                             bits(1e-300),
                                             bits(0.5),
                                             bits(std::numeric_limits<double>::quiet_NaN()),
                                             bits(std::numeric_limits<double>::infinity()),
                                             bits(-std::numeric_limits<double>::infinity()),
                                             bits(std::numeric_limits<float>::quiet_NaN()),
                                             bits(-3e38f),
                                             bits(1e9)};
    return choices_.any(numbers);
  }

  void edit_bytes(std::string& bytes) {
    const std::size_t how = choices_.below(8);
    if (bytes.empty() || how == 0) {
      bytes.append(1 + choices_.below(64), static_cast<char>(choices_.below(256)));
      return;
    }
    const std::size_t at = choices_.below(bytes.size());
    if (how == 1) {
      bytes.resize(at);
    } else if (how == 2) {
      bytes.erase(at, 1 + choices_.below(16));
    } else if (how == 3) {
      bytes[at] = static_cast<char>(choices_.below(256));
    } else {
      const std::size_t width = how % 2 == 0 ? 8 : 4;
      const std::uint64_t value = any_number();
      if (bytes.size() < width) return;
      const std::size_t place = std::min(at / width * width, bytes.size() - width);
      std::memcpy(bytes.data() + place, &value, width);
    }
  }

  FolderContent content_;
  std::vector<FolderContent> others_;
  Choices choices_;
  std::string done_;
};

// What happened when a spoiled folder was resumed; an empty `wrong` is as it should be.
struct ResumedFolder {
  std::string error;   // of the resume; "" = it went on
  bool began = false;  // the run was about to train
  std::string wrong;
};

// The federations that a test has the time and the memory for: an edited recipe may ask for any other.
inline bool small_enough(const Recipe& recipe) {
  const auto at_most = [](const auto& value, std::uint64_t limit) { return !value || *value <= limit; };
  return recipe.rounds <= 6 && at_most(recipe.data.clients, 64) && at_most(recipe.data.samples_max, 500) &&
         at_most(recipe.data.samples_min, 500) && recipe.local.epochs <= 4 && at_most(recipe.local.steps, 50) &&
         at_most(recipe.profile.steps, 50) && at_most(recipe.profile.epochs, 4) && recipe.training.passes <= 7 &&
         recipe.training.group_rounds <= 7 && (recipe.data.source == "synthetic" || recipe.data.source == "blobs") &&
         (recipe.model.name == "softmax" || (recipe.model.name == "mlp" && recipe.model.hidden.size() <= 2 &&
                                             std::ranges::all_of(recipe.model.hidden, [](auto w) { return w <= 64; })));
}

// Writes the content to `folder`, resumes the run for a few rounds, and reads its weights back as `export` does.
inline ResumedFolder resume_folder(const std::filesystem::path& folder, const FolderContent& content,
                                   std::vector<std::string> settings) {
  ResumedFolder result;
  const auto recipe_file = content.find("recipe.toml");
  if (recipe_file != content.end()) {
    auto recipe = parse_recipe(recipe_file->second, "recipe.toml");
    if (recipe && !small_enough(*recipe)) {
      const bool saved =
          std::ranges::any_of(content, [](const auto& file) { return file.first.starts_with("checkpoint/"); });
      if (!saved) return result;
      if (recipe->rounds > 6) settings = {"rounds=5"};
    }
  }
  write_folder(folder, content);
  SimulationOptions options{.threads = 1, .out = folder.parent_path(), .quiet = true};
  options.on_round = [&](std::uint32_t) { result.began = true; };
  const auto summary = resume(folder.string(), settings, options);
  if (!summary) {
    result.error = summary.error().message;
    if (result.error.find('\n') != std::string::npos) result.wrong = "an error of several lines";
    if (!result.began && read_folder(folder) != content) result.wrong = "a refused resume changed the folder";
  } else {
    for (const char* file : {"rounds.jsonl", "summary.json", "clients.csv"}) {
      if (!std::filesystem::is_regular_file(folder / file)) result.wrong = std::string(file) + " is missing";
    }
  }
  const auto recipe = load_recipe((folder / "recipe.toml").string());
  if (recipe && check_recipe(*recipe).ok() && small_enough(*recipe)) {
    const auto data = make_federated_data(recipe->data, recipe->data_seed.value_or(recipe->seed));
    if (data) {
      const auto network = make_network(recipe->model, (*data)->shape(), (*data)->classes());
      if (network) (void)read_safetensors(folder / "model.safetensors", **network).ok();
    }
  }
  return result;
}

}  // namespace muster
