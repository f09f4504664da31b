#include "store/run_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "recipe/toml_text.h"
#include "record/json_text.h"

namespace muster {
namespace {

using ParsedJson = nlohmann::json;

constexpr std::uint64_t kMostTagsBytes = std::uint64_t{1} << 16;
constexpr std::size_t kMostTagBytes = 64;
constexpr std::size_t kReadBytes = std::size_t{64} << 10;
constexpr std::size_t kMostListedSizes = 1000;

constexpr std::array kStamps{&RunStamps::folder,  &RunStamps::recipe,  &RunStamps::rounds, &RunStamps::groups,
                             &RunStamps::clients, &RunStamps::summary, &RunStamps::tags,   &RunStamps::ledger};
constexpr std::array kFiles{"",     "recipe.toml", "rounds.jsonl", "groups.jsonl", "clients.csv", "summary.json",
                            "tags", "ledger.jsonl"};
static_assert(kStamps.size() == kFiles.size());

// What is missing, or of another type, is none.
template <typename T>
std::optional<T> field(const ParsedJson& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end()) return std::nullopt;
  if constexpr (std::is_same_v<T, std::string>) {
    if (!found->is_string()) return std::nullopt;
  } else if constexpr (std::is_integral_v<T>) {
    if (!found->is_number_unsigned()) return std::nullopt;
  } else {
    if (!found->is_number()) return std::nullopt;
  }
  return found->template get<T>();
}

ParsedJson part(const ParsedJson& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_object() ? *found : ParsedJson::object();
}

std::uint32_t length(const ParsedJson& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_array() ? static_cast<std::uint32_t>(found->size()) : 0;
}

std::optional<ParsedJson> object_of(std::string_view line) {
  Result<ParsedJson> parsed = parse_json(line);
  if (!parsed || !parsed->is_object()) return std::nullopt;
  return std::move(parsed).value();
}

template <typename T>
std::optional<T> number(std::string_view cell) {
  T value{};
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (error != std::errc() || end != cell.data() + cell.size()) return std::nullopt;
  return value;
}

// The cells of one record, as csv_cell() writes them.
std::vector<std::string> cells_of(std::string_view record) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (std::size_t i = 0; i < record.size(); ++i) {
    const char c = record[i];
    if (quoted && c == '"' && record.substr(i + 1, 1) == "\"") {
      cells.back() += record[++i];
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      cells.emplace_back();
    } else {
      cells.back() += c;
    }
  }
  return cells;
}

}  // namespace

FileStamp stamp_of(const std::filesystem::path& path) {
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0 || (!S_ISREG(found.st_mode) && !S_ISDIR(found.st_mode))) return {};
  return {.inode = found.st_ino,
          .bytes = S_ISREG(found.st_mode) ? static_cast<std::uint64_t>(found.st_size) : 0,
          .modified_ns = std::int64_t{found.st_mtim.tv_sec} * 1'000'000'000 + found.st_mtim.tv_nsec};
}

RunStamps stamps_of(const std::filesystem::path& folder) {
  RunStamps stamps;
  for (std::size_t i = 0; i < kStamps.size(); ++i) stamps.*kStamps[i] = stamp_of(folder / kFiles[i]);
  return stamps;
}

std::string to_text(const RunStamps& stamps) {
  std::string text;
  for (const auto stamp : kStamps) {
    const FileStamp& s = stamps.*stamp;
    text += fmt::format("{} {} {};", s.inode, s.bytes, s.modified_ns);
  }
  return text;
}

std::optional<RunStamps> parse_stamps(const std::string& text) {
  RunStamps stamps;
  const char* at = text.data();
  const char* const end = text.data() + text.size();
  const auto read = [&](auto& value, char after) {
    const auto [stopped, error] = std::from_chars(at, end, value);
    if (error != std::errc() || stopped == end || *stopped != after) return false;
    at = stopped + 1;
    return true;
  };
  for (const auto stamp : kStamps) {
    FileStamp& s = stamps.*stamp;
    if (!read(s.inode, ' ') || !read(s.bytes, ' ') || !read(s.modified_ns, ';')) return std::nullopt;
  }
  return stamps;
}

std::int64_t begun_at(const std::filesystem::path& folder, const FileStamp& recipe) {
  constexpr std::string_view kEvents = "events.out.tfevents.";
  std::optional<std::int64_t> first;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const std::string file = entry->path().filename().string();
    if (!file.starts_with(kEvents)) continue;
    const std::string_view rest = std::string_view(file).substr(kEvents.size());
    const auto seconds = number<std::int64_t>(rest.substr(0, rest.find('.')));
    if (seconds && (!first || *seconds < *first)) first = seconds;
  }
  return first.value_or(recipe.modified_ns / 1'000'000'000);
}

Result<std::uint64_t> read_lines(const std::filesystem::path& file, std::uint64_t from,
                                 const std::function<void(std::string_view, std::uint64_t)>& line) {
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return failure("{}: cannot read: {}", file.string(), std::strerror(errno));
  std::string pending;
  std::uint64_t at = from;  // where `pending` begins in the file
  std::uint64_t read_to = from;
  std::string buffer(kReadBytes, '\0');
  int wrong = 0;
  while (true) {
    const ssize_t n = ::pread(descriptor, buffer.data(), buffer.size(), static_cast<off_t>(read_to));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) wrong = errno;
    if (n <= 0) break;
    read_to += static_cast<std::uint64_t>(n);
    pending.append(buffer, 0, static_cast<std::size_t>(n));
    std::size_t begin = 0;
    for (std::size_t end; (end = pending.find('\n', begin)) != std::string::npos; begin = end + 1) {
      line(std::string_view(pending).substr(begin, end - begin), at + begin);
    }
    pending.erase(0, begin);
    at += begin;
  }
  ::close(descriptor);
  if (wrong != 0) return failure("{}: cannot read: {}", file.string(), std::strerror(wrong));
  return at;
}

std::optional<StoredRound> parse_round(std::string_view line) {
  const std::optional<ParsedJson> json = object_of(line);
  const auto round = json ? field<std::uint32_t>(*json, "round") : std::nullopt;
  if (!round) return std::nullopt;
  const auto count = [&](const char* name) { return field<std::uint32_t>(*json, name).value_or(0); };
  return StoredRound{.round = *round,
                     .accuracy = field<double>(*json, "accuracy"),
                     .loss = field<double>(*json, "loss"),
                     .train_loss = field<double>(*json, "train_loss"),
                     .client_accuracy = field<double>(*json, "client_accuracy"),
                     .validation_accuracy = field<double>(*json, "validation_accuracy"),
                     .participants = count("participants"),
                     .dropped = length(*json, "dropped"),
                     .groups = count("groups"),
                     .idle = count("idle"),
                     .models = count("models"),
                     .bytes_up = field<std::uint64_t>(*json, "bytes_up").value_or(0),
                     .bytes_down = field<std::uint64_t>(*json, "bytes_down").value_or(0),
                     .cost_s = field<double>(*json, "cost_s").value_or(0),
                     .cost_total_s = field<double>(*json, "cost_total_s").value_or(0),
                     .wall_s = field<double>(*json, "wall_s").value_or(0)};
}

std::optional<StoredGrouping> parse_grouping(std::string_view line) {
  const std::optional<ParsedJson> json = object_of(line);
  const auto round = json ? field<std::uint32_t>(*json, "round") : std::nullopt;
  if (!round) return std::nullopt;
  StoredGrouping grouping{.round = *round,
                          .method = field<std::string>(*json, "method").value_or(""),
                          .why = field<std::string>(*json, "why").value_or(""),
                          .groups = field<std::uint32_t>(*json, "count").value_or(0),
                          .idle = length(*json, "idle"),
                          .bytes = line.size()};
  const ParsedJson quality = part(*json, "quality");
  grouping.cov_mean = field<double>(quality, "cov_mean");
  grouping.cpd_median = field<double>(quality, "cpd_median");
  const auto members = json->find("members");
  if (members == json->end() || !members->is_array() || members->size() > kMostListedSizes) return grouping;
  for (const ParsedJson& group : *members) {
    grouping.sizes.push_back(group.is_array() ? static_cast<std::uint32_t>(group.size()) : 0);
  }
  return grouping;
}

std::optional<StoredClient> parse_client(std::string_view line) {
  const std::vector<std::string> cells = cells_of(line);
  if (cells.size() < 8) return std::nullopt;
  const auto client = number<std::uint32_t>(cells[0]);
  if (!client) return std::nullopt;
  return StoredClient{.client = *client,
                      .name = cells[1],
                      .samples = number<std::uint64_t>(cells[2]),
                      .group = number<std::uint32_t>(cells[3]),
                      .trained = number<std::uint32_t>(cells[4]).value_or(0),
                      .dropped = number<std::uint32_t>(cells[5]).value_or(0),
                      .accuracy = number<double>(cells[6]),
                      .test_samples = number<std::uint64_t>(cells[7])};
}

std::optional<SummaryFigures> read_summary_figures(const std::filesystem::path& file) {
  const auto bytes = read_file(file, kMostSummaryBytes);
  if (!bytes) return std::nullopt;
  const std::string_view text(reinterpret_cast<const char*>(bytes->data()), bytes->size());
  const std::optional<ParsedJson> json = object_of(text);
  if (!json) return std::nullopt;
  SummaryFigures figures{.text = std::string(text.substr(0, text.find_last_not_of(" \r\n") + 1)),
                         .rounds = field<std::uint32_t>(*json, "rounds").value_or(0),
                         .stopped = field<std::string>(*json, "stopped").value_or(""),
                         .signature = field<std::string>(*json, "signature").value_or(""),
                         .clients = field<std::uint32_t>(*json, "clients"),
                         .data = field<std::string>(*json, "data").value_or("")};
  if (figures.stopped.empty()) return std::nullopt;
  if (figures.text.find('\n') != std::string::npos) figures.text = json_text(*json);
  const ParsedJson accuracy = part(*json, "accuracy");
  figures.accuracy_last = field<double>(accuracy, "last");
  figures.accuracy_best = field<double>(accuracy, "best");
  figures.best_round = field<std::uint32_t>(accuracy, "best_round").value_or(0);
  figures.loss_last = field<double>(part(*json, "loss"), "last");
  figures.groups = field<std::uint32_t>(part(*json, "groups"), "count");
  figures.wall_s = field<double>(part(*json, "time"), "wall_s").value_or(0);
  return figures;
}

std::vector<std::string> read_tags(const std::filesystem::path& file) {
  std::vector<std::string> tags;
  if (stamp_of(file).bytes > kMostTagsBytes) return tags;
  const auto end = read_lines(file, 0, [&](std::string_view line, std::uint64_t) {
    if (check_tag(std::string(line))) tags.emplace_back(line);
  });
  if (!end) return {};
  std::ranges::sort(tags);
  tags.erase(std::unique(tags.begin(), tags.end()), tags.end());
  return tags;
}

Status write_tags(const std::filesystem::path& file, const std::vector<std::string>& tags) {
  std::string text;
  for (const std::string& tag : tags) text += tag + '\n';
  return write_file(file, text);
}

Status check_tag(const std::string& word) {
  const bool plain = std::ranges::none_of(word, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte <= ' ' || byte == ',' || byte == 0x7f;
  });
  if (plain && !word.empty() && word.size() <= kMostTagBytes && is_utf8(word)) return {};
  return usage_error("tag '{}': want a word without blanks and commas, of at most {} bytes", shown_name(word),
                     kMostTagBytes);
}

}  // namespace muster
