// Rows of the store -> values. Every function throws what the database throws.
#pragma once

#include <string>
#include <vector>

#include "store/store.h"
#include "store/store_file.h"

namespace muster {

// Those that the filter lets pass, in its order. `out` is where their folders are.
[[nodiscard]] std::vector<StoredRun> query_runs(SQLite::Database& database, const std::filesystem::path& out,
                                                const RunFilter& filter);
[[nodiscard]] StoreChanges query_changes(SQLite::Database& database, const std::filesystem::path& out,
                                         std::uint64_t since);
[[nodiscard]] std::vector<std::string> query_ids(SQLite::Database& database);
[[nodiscard]] std::optional<StoredRun> query_run(SQLite::Database& database, const std::filesystem::path& out,
                                                 const std::string& id);
[[nodiscard]] std::vector<StoredRound> query_rounds(SQLite::Database& database, const std::string& id,
                                                    std::uint32_t after);
[[nodiscard]] std::vector<StoredGrouping> query_groupings(SQLite::Database& database, const std::string& id);
[[nodiscard]] std::vector<StoredClient> query_clients(SQLite::Database& database, const std::string& id);
[[nodiscard]] std::map<std::string, std::string> query_recipe(SQLite::Database& database, const std::string& id);

}  // namespace muster
