// StateLog: the files behind ClientStates. Records are appended to numbered files, never changed, and found again by
// their place. Knows which files still hold live records; its owner decides which others a manifest needs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace muster {

struct LogPlace {
  std::uint32_t file = 0;
  std::uint32_t count = 0;  // floats in the record
  std::uint64_t offset = 0;
  bool operator==(const LogPlace&) const = default;
};

// An open file, closed when it goes out of scope.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept;
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor();
  [[nodiscard]] int number() const { return number_; }
  [[nodiscard]] bool open() const { return number_ >= 0; }

 private:
  int number_ = -1;
};

// Not thread-safe, except for read(), which is static and touches only its arguments.
class StateLog {
 public:
  StateLog(std::filesystem::path folder, std::uint64_t file_bytes);

  // Appends a live record. After a failure the next append starts a new file, so a torn record is never followed.
  [[nodiscard]] Result<LogPlace> append(std::uint64_t key, std::span<const float> values);
  // The record is no longer the current one of its key.
  void release(const LogPlace& place);

  // A file opened here stays readable even if it is removed meanwhile.
  [[nodiscard]] Result<Descriptor> open(std::uint32_t file) const;
  // Fills `out`, of place.count floats, and verifies length, key and checksum. `name` is for errors.
  [[nodiscard]] static Status read(const Descriptor& from, const std::string& name, std::uint64_t key,
                                   const LogPlace& place, std::span<float> out);
  [[nodiscard]] std::string name(std::uint32_t file) const;

  // Everything appended so far is durable. Once this has failed it fails for ever: the system may have dropped pages.
  [[nodiscard]] Status sync();

  // Files that are no longer appended to and are at least half dead: worth moving their live records.
  [[nodiscard]] std::vector<std::uint32_t> sparse_files() const;
  // Whether a file was closed because it is full since the last call: the moment to look for sparse files.
  bool take_filled();

  // Removes files without live records that are not in `needed`: only those this object made, unless `also_older`.
  void remove_unneeded(const std::set<std::uint32_t>& needed, bool also_older);

  // Verifies every record of an index, given in order of place, without changing anything.
  [[nodiscard]] Status verify(std::span<const std::pair<std::uint64_t, LogPlace>> index) const;
  // Takes over an index that was verified: its records are the live ones, every file present counts as older.
  void adopt(std::span<const std::pair<std::uint64_t, LogPlace>> index);

 private:
  struct File {
    std::uint64_t bytes = 0;
    std::uint64_t live_bytes = 0;
    std::uint64_t live_records = 0;
    bool made_here = false;
    bool synced = true;
  };
  void list_files();
  [[nodiscard]] Status start_file();
  void close_file();
  [[nodiscard]] std::filesystem::path path(std::uint32_t file) const;

  std::filesystem::path folder_;
  std::uint64_t file_bytes_;
  bool listed_ = false;
  bool filled_ = false;
  std::string sync_failure_;
  std::map<std::uint32_t, File> files_;
  std::uint32_t current_ = 0;  // the file appended to, while writer_ is open
  Descriptor writer_;
};

}  // namespace muster
