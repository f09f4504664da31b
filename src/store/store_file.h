// StoreFile: the database behind a store: how it is opened, what tables it has, and errors as values.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <filesystem>
#include <optional>
#include <type_traits>

#include "base/result.h"
#include "store/run_files.h"

namespace muster {

class StoreFile {
 public:
  // The file, made with its tables if it is not there; an older version's tables are made anew, and empty. Fails if it
  // is something else than a store, or of a later version.
  [[nodiscard]] static Result<StoreFile> open(const std::filesystem::path& file);
  [[nodiscard]] static Result<StoreFile> in_memory();

  [[nodiscard]] SQLite::Database& database() { return *database_; }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  // Also if it was gone by the time that it had been opened.
  [[nodiscard]] bool replaced() const {
    return !path_.empty() && (inode_ == 0 || stamp_of(path_).inode != inode_);
  }
  // As told to people where there is no file.
  [[nodiscard]] std::string name() const { return path_.empty() ? "the store in memory" : path_.string(); }

  // Between two fail points.
  void commit(SQLite::Transaction& transaction) const;

  // Calls `work`, and makes an error of whatever the database throws.
  template <typename Work>
  auto attempt(const Work& work) const -> Result<std::invoke_result_t<Work>> {
    try {
      return work();
    } catch (const SQLite::Exception& error) {
      return failed(error);
    }
  }

 private:
  StoreFile() = default;
  [[nodiscard]] Error failed(const SQLite::Exception& error) const;
  void connect(const std::string& name);
  Status make_tables();

  std::filesystem::path path_;
  std::uint64_t inode_ = 0;
  std::unique_ptr<SQLite::Database> database_;
};

}  // namespace muster
