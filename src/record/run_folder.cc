#include "record/run_folder.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <fstream>
#include <map>
#include <optional>

#include "base/file.h"
#include "record/json_text.h"

namespace muster {

std::optional<std::uint64_t> round_of(const std::string& line) {
  const auto record = parse_json(line);
  if (!record || !record->is_object()) return std::nullopt;
  const auto round = record->find("round");
  if (round == record->end() || !round->is_number_unsigned()) return std::nullopt;
  return round->get<std::uint64_t>();
}

Result<RunFolder> RunFolder::create(const std::filesystem::path& out, const std::string& recipe, std::uint64_t seed) {
  MUSTER_TRY(make_folder(out));
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char stamp[32];
  std::strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S", &utc);
  constexpr std::size_t kLongestName = 40;  // in an id, which is a folder's name and a line of a table
  std::string safe;
  for (const char c : recipe.substr(0, kLongestName))
    safe += std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' ? c : '-';
  const std::string id = fmt::format("{}-s{}-{}", safe.empty() ? "run" : safe, seed, stamp);
  for (int attempt = 1; attempt < 1000; ++attempt) {
    const std::filesystem::path path = out / (attempt == 1 ? id : fmt::format("{}-{}", id, attempt));
    if (::mkdir(path.c_str(), 0755) == 0) {
      RunFolder made(path);
      MUSTER_TRY(made.lock());
      return made;
    }
    if (errno != EEXIST) return failure("{}: cannot create folder: {}", path.string(), std::strerror(errno));
  }
  return failure("{}: 999 runs of this name exist already", (out / id).string());
}

Result<RunFolder> RunFolder::create_named(const std::filesystem::path& out, const std::string& id) {
  MUSTER_TRY(make_folder(out));
  RunFolder made(out / id);
  if (::mkdir(made.path().c_str(), 0755) != 0) {
    return failure("{}: cannot create folder: {}", made.path().string(), std::strerror(errno));
  }
  MUSTER_TRY(made.lock());
  return made;
}

Result<RunFolder> RunFolder::open(const std::filesystem::path& out, const std::string& run) {
  std::error_code ignored;
  for (const std::filesystem::path& path : {std::filesystem::path(run), out / run}) {
    std::filesystem::path clean = path.lexically_normal();
    if (!clean.has_filename()) clean = clean.parent_path();
    if (std::filesystem::is_regular_file(clean / "recipe.toml", ignored)) return RunFolder(clean);
  }
  return usage_error("{}: no run there; want a run's folder, or its id under {}", run, out.string());
}

Status RunFolder::lock() {
  MUSTER_ASSIGN(lock_, RunLock::take(path_));
  return {};
}

Status RunFolder::write(const std::string& file, std::string_view content) const {
  return write_file(path_ / file, content);
}

Status RunFolder::append(const std::string& file, std::string_view line) {
  MUSTER_ASSIGN(FileAppender appender, FileAppender::open(path_ / file));
  return appender.append(fmt::format("{}\n", line));
}

Status RunFolder::append_round(const RoundRecord& record) {
  return append("rounds.jsonl", to_json(record));
}

Status RunFolder::append_grouping(std::string_view json_line) {
  return append("groups.jsonl", json_line);
}

Status RunFolder::forget_rounds_after(std::uint32_t last) {
  std::map<std::string, std::string> kept;
  for (const char* file : {"rounds.jsonl", "groups.jsonl"}) {
    std::error_code error;
    const std::filesystem::file_status found = std::filesystem::status(path_ / file, error);
    if (std::filesystem::exists(found) && !std::filesystem::is_regular_file(found)) {
      return failure("{}: not a file; move it away", (path_ / file).string());
    }
    std::ifstream in(path_ / file);
    std::string line;
    for (std::uint64_t number = 1; std::getline(in, line); ++number) {
      if (in.eof()) break;  // no newline: the last write was cut short
      const std::optional<std::uint64_t> round = round_of(line);
      if (!round) {
        return failure("{}:{}: not a record of a round; mend or remove the line", (path_ / file).string(), number);
      }
      if (*round <= last) kept[file] += line + '\n';
    }
    kept.try_emplace(file);
  }
  for (const auto& [file, lines] : kept) MUSTER_TRY(write(file, lines));
  return {};
}

Status RunFolder::replace_round(std::uint32_t round, std::string_view json_line) {
  std::ifstream in(path_ / "rounds.jsonl");
  std::string kept;
  for (std::string line; std::getline(in, line);) {
    const std::optional<std::uint64_t> known = round_of(line);
    if (known && *known < round) kept += line + '\n';
  }
  return write("rounds.jsonl", kept + std::string(json_line) + '\n');
}

Status RunFolder::write_clients(std::uint32_t clients,
                                const std::function<void(std::uint32_t, std::string&)>& row) const {
  constexpr std::size_t kWrittenAtOnce = std::size_t{1} << 18;
  MUSTER_ASSIGN(FileWriter file, FileWriter::create(path_ / "clients.csv"));
  std::string text = "client,name,samples,group,trained,dropped,accuracy,test_samples,filtered,malicious\n";
  for (std::uint32_t k = 0; k < clients; ++k) {
    row(k, text);
    text += '\n';
    if (text.size() < kWrittenAtOnce) continue;
    MUSTER_TRY(file.write(text));
    text.clear();
  }
  MUSTER_TRY(file.write(text));
  return file.finish();
}

}  // namespace muster
