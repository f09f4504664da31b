// Checkpoint: everything a run needs to continue, as named sections in one checksummed file. Knows nothing of what the
// sections mean. Checkpoint -> folder/round-0000000042.checkpoint -> Checkpoint; the one before is kept.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace muster {

struct Checkpoint {
  std::uint32_t round = 0;  // the last round that is finished
  std::map<std::string, std::string> sections;

  void put_string(std::string name, std::string value);
  void put_uint64(std::string name, std::uint64_t value);
  void put_floats(std::string name, std::span<const float> values);
  void put_doubles(std::string name, std::span<const double> values);

  [[nodiscard]] bool has(const std::string& name) const { return sections.contains(name); }
  // Each fails, naming the section, if it is missing or its size is not that of the type.
  [[nodiscard]] Result<std::string> get_string(const std::string& name) const;
  [[nodiscard]] Result<std::uint64_t> get_uint64(const std::string& name) const;
  [[nodiscard]] Result<std::vector<float>> get_floats(const std::string& name) const;
  [[nodiscard]] Result<std::vector<double>> get_doubles(const std::string& name) const;
};

// Durable when it returns success; on failure the folder's checkpoints are as they were. Creates the folder. Of the
// other checkpoints only the newest of an earlier round is kept: one of a later round belongs to a run that went back.
[[nodiscard]] Status write_checkpoint(const std::filesystem::path& folder, const Checkpoint& checkpoint);

// The checkpoint files in a folder, newest first; empty if there are none or the folder does not exist.
[[nodiscard]] std::vector<std::filesystem::path> list_checkpoints(const std::filesystem::path& folder);
// Fails on a file that is torn, corrupt or of another kind; the error names it.
[[nodiscard]] Result<Checkpoint> read_checkpoint(const std::filesystem::path& path);
// The same from memory.
[[nodiscard]] Result<Checkpoint> parse_checkpoint(std::span<const std::uint8_t> bytes);

}  // namespace muster
