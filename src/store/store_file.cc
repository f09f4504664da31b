#include "store/store_file.h"

#include <sqlite3.h>
#include <sys/statfs.h>

#include <array>

#include "base/fail_point.h"

namespace muster {
namespace {

constexpr int kApplication = 0x4d757374;  // "Must", in the header of the file
constexpr int kVersion = 2;               // of the tables
constexpr int kPatienceMs = 5000;         // with other processes that write

constexpr const char* kTables = R"sql(
CREATE TABLE counter (sequence INTEGER NOT NULL);
INSERT INTO counter VALUES (0);
CREATE TABLE run (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  recipe TEXT NOT NULL,
  seed INTEGER NOT NULL,
  stopped TEXT NOT NULL,
  signature TEXT NOT NULL,
  rounds INTEGER NOT NULL,
  rounds_planned INTEGER NOT NULL,
  accuracy_last REAL,
  accuracy_best REAL,
  best_round INTEGER NOT NULL,
  loss_last REAL,
  clients INTEGER,
  groups INTEGER,
  bytes INTEGER NOT NULL,
  cost_s REAL NOT NULL,
  wall_s REAL NOT NULL,
  begun_s INTEGER NOT NULL,
  changed_s INTEGER NOT NULL,
  data TEXT NOT NULL,
  deployed INTEGER NOT NULL,
  fault TEXT NOT NULL,
  summary TEXT NOT NULL,
  sequence INTEGER NOT NULL,
  generation INTEGER NOT NULL,
  stamps TEXT NOT NULL,
  rounds_read INTEGER NOT NULL,
  rounds_last TEXT NOT NULL,
  groups_read INTEGER NOT NULL,
  groups_last TEXT NOT NULL
);
CREATE INDEX run_by_sequence ON run (sequence);
CREATE TABLE recipe_key (
  run INTEGER NOT NULL,
  key TEXT NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY (run, key)
) WITHOUT ROWID;
CREATE TABLE round (
  run INTEGER NOT NULL,
  round INTEGER NOT NULL,
  accuracy REAL,
  loss REAL,
  train_loss REAL,
  client_accuracy REAL,
  validation_accuracy REAL,
  participants INTEGER NOT NULL,
  dropped INTEGER NOT NULL,
  groups INTEGER NOT NULL,
  idle INTEGER NOT NULL,
  models INTEGER NOT NULL,
  bytes_up INTEGER NOT NULL,
  bytes_down INTEGER NOT NULL,
  bytes_total INTEGER NOT NULL,
  cost_s REAL NOT NULL,
  cost_total_s REAL NOT NULL,
  wall_s REAL NOT NULL,
  PRIMARY KEY (run, round)
) WITHOUT ROWID;
CREATE TABLE grouping (
  run INTEGER NOT NULL,
  place INTEGER NOT NULL,
  round INTEGER NOT NULL,
  method TEXT NOT NULL,
  why TEXT NOT NULL,
  groups INTEGER NOT NULL,
  idle INTEGER NOT NULL,
  cov_mean REAL,
  cpd_median REAL,
  sizes TEXT NOT NULL,
  offset INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  PRIMARY KEY (run, place)
) WITHOUT ROWID;
CREATE TABLE client (
  run INTEGER NOT NULL,
  client INTEGER NOT NULL,
  name TEXT NOT NULL,
  samples INTEGER,
  grp INTEGER,
  trained INTEGER NOT NULL,
  dropped INTEGER NOT NULL,
  accuracy REAL,
  test_samples INTEGER,
  PRIMARY KEY (run, client)
) WITHOUT ROWID;
CREATE TABLE tag (
  run INTEGER NOT NULL,
  word TEXT NOT NULL,
  PRIMARY KEY (run, word)
) WITHOUT ROWID;
CREATE TABLE gone (
  id TEXT PRIMARY KEY,
  sequence INTEGER NOT NULL
) WITHOUT ROWID;
)sql";

constexpr const char* kDropTables = R"sql(
DROP TABLE IF EXISTS counter;
DROP TABLE IF EXISTS run;
DROP TABLE IF EXISTS recipe_key;
DROP TABLE IF EXISTS round;
DROP TABLE IF EXISTS grouping;
DROP TABLE IF EXISTS client;
DROP TABLE IF EXISTS tag;
DROP TABLE IF EXISTS gone;
)sql";

// Where processes of several machines may write: memory that is shared by processes of one, which a write-ahead log
// needs, is none there.
bool on_network(const std::filesystem::path& folder) {
  struct statfs found {};
  if (::statfs(folder.c_str(), &found) != 0) return false;
  // NFS, SMB (three kinds), CIFS, Lustre, GPFS, Ceph, AFS, 9p, FUSE, BeeGFS, OrangeFS
  constexpr std::array<std::uint32_t, 13> kKinds{0x6969,     0x517b,     0xfe534d42, 0xff534d42, 0xff534d41,
                                                 0x0bd00bd0, 0x47504653, 0x00c36400, 0x5346414f, 0x01021997,
                                                 0x65735546, 0x19830326, 0x20030528};
  return std::ranges::find(kKinds, static_cast<std::uint32_t>(found.f_type)) != kKinds.end();
}

int pragma(SQLite::Database& database, const char* name) {
  return database.execAndGet(fmt::format("PRAGMA {}", name)).getInt();
}

}  // namespace

Result<StoreFile> StoreFile::open(const std::filesystem::path& file) {
  StoreFile opened;
  opened.path_ = file;
  MUSTER_TRY(opened.attempt([&] {
    opened.connect(file.string());
    return 0;
  }));
  // SQLite opens what it may not write to, too.
  if (sqlite3_db_readonly(opened.database_->getHandle(), "main") == 1) {
    return failure("{}: cannot be written to", file.string());
  }
  MUSTER_TRY(opened.make_tables());
  opened.inode_ = stamp_of(file).inode;
  return opened;
}

Result<StoreFile> StoreFile::in_memory() {
  StoreFile opened;
  MUSTER_TRY(opened.attempt([&] {
    opened.connect(":memory:");
    return 0;
  }));
  MUSTER_TRY(opened.make_tables());
  return opened;
}

void StoreFile::connect(const std::string& name) {
  database_ = std::make_unique<SQLite::Database>(
      name, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE | SQLite::OPEN_FULLMUTEX, kPatienceMs);
  // What a write-ahead log holds is copied into the file now and then, not whenever somebody leaves.
  sqlite3_db_config(database_->getHandle(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  database_->exec("PRAGMA cache_size = -2048");  // kB
  database_->exec("PRAGMA temp_store = MEMORY");
  if (path_.empty()) return;
  database_->execAndGet(on_network(path_.parent_path()) ? "PRAGMA journal_mode = DELETE" : "PRAGMA journal_mode = WAL");
  // A machine that loses its power may lose the last transactions with it, which the folders still have.
  database_->exec("PRAGMA synchronous = NORMAL");
}

Status StoreFile::make_tables() {
  Result<Status> made = attempt([&]() -> Status {
    if (pragma(*database_, "application_id") == kApplication && pragma(*database_, "user_version") == kVersion) {
      return {};
    }
    SQLite::Transaction transaction(*database_, SQLite::TransactionBehavior::IMMEDIATE);
    // Another process may have made them meanwhile.
    const int application = pragma(*database_, "application_id");
    const int version = pragma(*database_, "user_version");
    if (application == kApplication && version == kVersion) return {};
    const bool empty = database_->execAndGet("SELECT count(*) FROM sqlite_master").getInt() == 0;
    if (application != kApplication && !empty) return failure("{}: not a store of runs", name());
    if (version > kVersion) return failure("{}: written by a later version of Muster", name());
    database_->exec(kDropTables);
    database_->exec(kTables);
    database_->exec(fmt::format("PRAGMA application_id = {}", kApplication));
    database_->exec(fmt::format("PRAGMA user_version = {}", kVersion));
    commit(transaction);
    return {};
  });
  if (!made) return std::move(made).error();
  return std::move(made).value();
}

void StoreFile::commit(SQLite::Transaction& transaction) const {
  fail_point(FailPoint::kBeforeCommit, path_);
  transaction.commit();
  fail_point(FailPoint::kAfterCommit, path_);
}

Error StoreFile::failed(const SQLite::Exception& error) const {
  switch (error.getErrorCode()) {
    case SQLITE_FULL:
      return failure("{}: the disk is full", name());
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return failure("{}: another process has been writing to it for {} s", name(), kPatienceMs / 1000);
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
      return failure("{}: not a store of runs, or damaged", name());
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
      return failure("{}: cannot be written to", name());
    default:
      return failure("{}: {}", name(), error.what());
  }
}

}  // namespace muster
