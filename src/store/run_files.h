// What the store takes from a run's folder, read so that no content, however broken, costs more than a note. Lines that
// are appended are read once; a line without its end is left for the next look. Knows no database.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "store/store.h"

namespace muster {

// Which file, and which state of it: another stamp means that its content may have changed.
struct FileStamp {
  std::uint64_t inode = 0;  // 0 = there is no such file
  std::uint64_t bytes = 0;
  std::int64_t modified_ns = 0;

  [[nodiscard]] bool there() const { return inode != 0; }
  friend bool operator==(const FileStamp&, const FileStamp&) = default;
};
// Of a regular file, or of a folder; else none. Links are followed.
[[nodiscard]] FileStamp stamp_of(const std::filesystem::path& path);

// Of all files that the store reads, and of the folder.
struct RunStamps {
  FileStamp folder;
  FileStamp recipe;
  FileStamp rounds;
  FileStamp groups;
  FileStamp clients;
  FileStamp summary;
  FileStamp tags;
  FileStamp ledger;

  friend bool operator==(const RunStamps&, const RunStamps&) = default;
};
[[nodiscard]] RunStamps stamps_of(const std::filesystem::path& folder);
// As text, to be kept and compared.
[[nodiscard]] std::string to_text(const RunStamps& stamps);
[[nodiscard]] std::optional<RunStamps> parse_stamps(const std::string& text);

// When it began: by the first of its event files, else by recipe.toml.
[[nodiscard]] std::int64_t begun_at(const std::filesystem::path& folder, const FileStamp& recipe);

// Calls `line(text, offset)` with every whole line from `from` on, and returns where the last of them ends.
[[nodiscard]] Result<std::uint64_t> read_lines(const std::filesystem::path& file, std::uint64_t from,
                                               const std::function<void(std::string_view, std::uint64_t)>& line);

// None if the line is not of that kind. `bytes_total` is left to the caller.
[[nodiscard]] std::optional<StoredRound> parse_round(std::string_view line);
[[nodiscard]] std::optional<StoredGrouping> parse_grouping(std::string_view line);
[[nodiscard]] std::optional<StoredClient> parse_client(std::string_view line);

// Of summary.json; none if it is not one. Fills in what it tells of the run.
struct SummaryFigures {
  std::string text;  // in one line
  std::uint32_t rounds = 0;
  std::string stopped;
  std::string signature;
  std::optional<double> accuracy_last;
  std::optional<double> accuracy_best;
  std::uint32_t best_round = 0;
  std::optional<double> loss_last;
  std::optional<std::uint32_t> clients;
  std::optional<std::uint32_t> groups;
  double wall_s = 0;
  std::string data;
};
[[nodiscard]] std::optional<SummaryFigures> read_summary_figures(const std::filesystem::path& file);

// One per line; what is no tag is left out. Ascending, each once.
[[nodiscard]] std::vector<std::string> read_tags(const std::filesystem::path& file);
[[nodiscard]] Status write_tags(const std::filesystem::path& file, const std::vector<std::string>& tags);
// A word without blanks, commas and control characters, of 1 to 64 bytes of UTF-8.
[[nodiscard]] Status check_tag(const std::string& word);

}  // namespace muster
