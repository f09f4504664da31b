// RunLedger: what happened to every task of a deployed run, in ledger.jsonl of its folder, for whoever wants to check
// it afterwards: who came, what was asked, which answers were used, how they were merged, which rounds that made. An
// answer is written before the one who sent it is told, a round's model before its checkpoint. Nothing is ever taken
// back: a cloud that starts again says from which round it goes on, and what came after that round does not count.
#pragma once

#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "engine/round_observer.h"
#include "recipe/recipe.h"
#include "record/ledger_file.h"
#include "wire/task_log.h"

namespace muster {

struct RunLedgerOptions {
  std::filesystem::path vectors;  // folder for every update that was used and every merged model; empty: none is kept
  std::function<void(const std::string&)> say;
};

// A ledger that cannot be written says so and ends there; the run goes on. Thread-safe.
class RunLedger final : public RoundObserver, public TaskLog {
 public:
  explicit RunLedger(RunLedgerOptions options) : options_(std::move(options)) {}

  // Another incarnation begins, in the run's folder. Before that nothing is written.
  [[nodiscard]] Status begin(const std::filesystem::path& folder, const v1::Welcome& welcome, const Recipe& recipe,
                             std::uint32_t clients);
  void end_run(const RunSummary& summary);

  void came(const std::string& peer, bool edge, std::span<const ClientId> clients) override;
  void went(const std::string& peer, std::span<const ClientId> clients) override;
  void asked(const v1::Ask& ask) override;
  void answered(const v1::Ask& ask, const v1::TaskId& reply, const TaskAnswer& answer) override;
  void missed(const v1::Ask& ask, std::string_view reason) override;
  void refused(const std::string& peer, const v1::TaskId& reply, std::string_view reason) override;

  void prepare(RoundTasks& tasks) override;
  void group(const GroupUpdate& update) override;
  void end(const Models& models, RoundRecord& record) override;
  void save(Checkpoint& checkpoint) const override;
  [[nodiscard]] Status restore(const Checkpoint& checkpoint) override;

 private:
  enum class Written { kSoon, kNow };
  void write(const std::string& line, Written when);
  // Before the first line that depends on it: from which round this incarnation goes on.
  void tell_from();
  // The checkpoint that save() was called for is on disk, or the run would have ended.
  void tell_saved();
  // Of lines that a peer causes without being asked to: there is an end to how many are written.
  [[nodiscard]] bool too_many();
  void check(const Status& written) const;  // with the lock held
  void keep(const std::string& name, std::span<const float> values);

  const RunLedgerOptions options_;
  mutable std::mutex mutex_;  // of all below, but for what the round loop's thread alone uses
  mutable std::optional<LedgerFile> file_;
  std::uint32_t incarnation_ = 0;
  std::uint64_t unasked_ = 0;
  bool shared_model_ = false;
  bool from_told_ = false;
  std::uint32_t from_ = 0;  // the round that was restored, and its model
  std::string from_model_;
  // The round loop's.
  std::uint32_t round_ = 0;
  mutable std::optional<std::uint32_t> saved_;  // on its way to disk
};

}  // namespace muster
