// `muster runs reindex`: the store anew, from the run folders.
#include <fmt/format.h>

#include <memory>

#include "app/runs_commands.h"
#include "base/names.h"

namespace muster {
namespace {

// A file that is no store, or a broken one, makes room: it is renamed, with what SQLite keeps beside it.
Status move_away(const std::filesystem::path& file) {
  for (const char* ending : {"", "-wal", "-shm"}) {
    const std::filesystem::path part = file.string() + ending;
    std::error_code error;
    if (!std::filesystem::exists(std::filesystem::symlink_status(part, error))) continue;
    std::filesystem::rename(part, file.string() + ".old" + ending, error);
    if (error) return failure("{}: cannot be moved away: {}", part.string(), error.message());
  }
  return {};
}

Status reindex(const std::filesystem::path& out) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(out, ignored)) {
    return usage_error("--out {}: no such folder; want the folder that holds the runs", out.string());
  }
  const auto rebuilt = [&]() -> Result<StoreUpdate> {
    MUSTER_ASSIGN(Store store, Store::open_file(out));
    return store.refresh(Look::kAfresh);
  };
  Result<StoreUpdate> update = rebuilt();
  if (!update && update.error().message.find("not a store of runs") != std::string::npos) {
    std::fprintf(stderr, "muster: note: %s; it is kept as %s.old\n", update.error().message.c_str(), kStoreFile);
    MUSTER_TRY(move_away(out / kStoreFile));
    update = rebuilt();
  }
  if (!update) return std::move(update).error();
  fmt::print("{}: {}\n", (out / kStoreFile).string(), counted(update->runs, "run"));
  return flush_result();
}

}  // namespace

void add_runs_reindex_command(Command runs) {
  auto out = std::make_shared<std::string>("runs");
  Command command = runs.add_command("reindex", "Make the store anew from the run folders");
  command.add_option("--out", *out, "Folder that holds the runs").show_default();
  command.set_footer(
      "Examples:\n  muster runs reindex\n  muster runs reindex --out results\n"
      "Nothing is lost by it: all that the store knows is in the folders, tags included.");
  command.set_action([out] { return reindex(*out); });
}

}  // namespace muster
