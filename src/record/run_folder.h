// RunFolder: a run's folder on disk, runs/<id>/. Lines are appended as rounds end; whole files are replaced, never
// half-written. What a line or a column means is in run_record.h.
#pragma once

#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "record/run_lock.h"
#include "record/run_record.h"

namespace muster {

// The round that a line of rounds.jsonl or groups.jsonl tells of; nothing if it is not such a line.
[[nodiscard]] std::optional<std::uint64_t> round_of(const std::string& line);

class RunFolder {
 public:
  // A new folder under `out`, named after the recipe (the beginning of a long name), the seed and the time.
  // Locked, as below.
  [[nodiscard]] static Result<RunFolder> create(const std::filesystem::path& out, const std::string& recipe,
                                                std::uint64_t seed);
  // The same by the name given; fails if something of that name is there.
  [[nodiscard]] static Result<RunFolder> create_named(const std::filesystem::path& out, const std::string& id);
  // An existing one, by path or by id under `out`. Whoever writes to it takes lock() first.
  [[nodiscard]] static Result<RunFolder> open(const std::filesystem::path& out, const std::string& run);

  // Keeps other processes from running it as long as the object lives. Fails if one of them does.
  [[nodiscard]] Status lock();

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::string id() const { return path_.filename().string(); }
  [[nodiscard]] std::filesystem::path checkpoints() const { return path_ / "checkpoint"; }

  [[nodiscard]] Status write(const std::string& file, std::string_view content) const;
  [[nodiscard]] Status append_round(const RoundRecord& record);
  [[nodiscard]] Status append_grouping(std::string_view json_line);
  // Puts `json_line` in place of everything from round `round` on in rounds.jsonl.
  [[nodiscard]] Status replace_round(std::uint32_t round, std::string_view json_line);
  // Drops the lines of rounds after `last`, which a resumed run will write again, and a last line that was cut short.
  // Fails, naming file and line, if another line is not a record of a round; the files are then as they were.
  [[nodiscard]] Status forget_rounds_after(std::uint32_t last);
  // clients.csv: `row(k, text)` appends the line of client k, without its end. Written as it is made, so that the table
  // of millions takes no memory.
  [[nodiscard]] Status write_clients(std::uint32_t clients,
                                     const std::function<void(std::uint32_t, std::string&)>& row) const;

 private:
  explicit RunFolder(std::filesystem::path path) : path_(std::move(path)) {}
  [[nodiscard]] Status append(const std::string& file, std::string_view line);

  std::filesystem::path path_;
  RunLock lock_;
};

}  // namespace muster
