#include "report/comparison_file.h"

#include <cctype>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/hash.h"
#include "engine/comparison_json.h"
#include "record/json_text.h"
#include "report/record_lines.h"
#include "report/run_records.h"

namespace muster {
namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{64} << 20;
constexpr std::size_t kLongestName = 80;
constexpr std::size_t kMostRuns = 10'000;
constexpr std::size_t kLongestCommand = 2000;

// A name of a folder beside the file, and nothing that leads elsewhere.
bool is_plain_name(const std::string& name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos &&
         name.find('\0') == std::string::npos;
}

}  // namespace

std::string comparison_name(const ComparisonTable& table) {
  std::string name = "compare";
  Hasher hasher;
  for (const MethodFigures& method : table.methods) {
    std::string word;
    for (const char c : method.label) {
      word += std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' ? c : '-';
    }
    if (name.size() + word.size() < kLongestName) name += "-" + word;
    hasher.add(method.label);
    for (const std::string& run : method.runs) hasher.add("\n" + run);
    hasher.add("\n\n");
  }
  return name + "-" + hex16(hasher.digest()).substr(0, 8);
}

Result<std::filesystem::path> write_comparison(const std::filesystem::path& out, const ComparisonTable& table) {
  const std::filesystem::path file = out / (comparison_name(table) + ".json");
  MUSTER_TRY(write_file(file, to_json(table) + "\n"));
  return file;
}

Result<ComparedRuns> read_comparison(const std::filesystem::path& file) {
  MUSTER_ASSIGN(const auto bytes, read_file(file, kMostBytes));
  const auto json = parse_json({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  if (!json) return failure("{}: {}", file.string(), json.error().message);
  ComparedRuns found{.name = shown_name(file.stem().string()),
                     .task = shown_name(text_of(*json, "task")),
                     .command = shown_name(text_of(*json, "command"), kLongestCommand),
                     .methods = {},
                     .targets = {}};
  found.tail = std::max(1u, count_of(*json, "tail_evaluations", found.tail));
  std::size_t runs = 0;
  for (const nlohmann::json& method : inner(*json, "methods")) {
    ComparedRuns::Method own{.label = shown_name(text_of(method, "method")), .folders = {}};
    for (const nlohmann::json& run : inner(method, "runs")) {
      if (!run.is_string() || !is_plain_name(run.get<std::string>())) {
        return failure("{}: lists a run that is no folder's name: {}", file.string(), shown_name(json_text(run)));
      }
      own.folders.push_back(file.parent_path() / run.get<std::string>());
      if (++runs > kMostRuns) return failure("{}: lists more than {} runs", file.string(), kMostRuns);
    }
    for (const nlohmann::json& target : found.methods.empty() ? inner(method, "to_target") : nlohmann::json()) {
      const double accuracy = number_of(target, "accuracy", 0);
      if (accuracy > 0 && accuracy <= 1) found.targets.push_back(accuracy);
    }
    if (!own.folders.empty()) found.methods.push_back(std::move(own));
  }
  if (found.methods.empty()) return failure("{}: not a comparison: it lists no runs", file.string());
  return found;
}

}  // namespace muster
