// Membership: which clients with data of their own take part in a run, under which number and from which round on; what
// they agreed on is part of it. Kept in the run's folder, so that a resumed run has the same clients.
#pragma once

#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "clients/roster.h"
#include "data/agreement.h"
#include "recipe/recipe.h"

namespace muster {

// A run has data.clients places. newcomers.clients of them, the same that a simulation would have come late, are for
// clients that come from newcomers.round on; the others are for those that are there when the run begins, in the order
// of their names. Who comes later takes the first free place, from the next round on. Thread-safe, but for data().
class Membership {
 public:
  // How many are there from the first round on; precondition: check_held_by_clients() passes.
  [[nodiscard]] static std::uint32_t first_clients(const Recipe& recipe);

  struct Start {
    std::unique_ptr<Membership> membership;
    // Clients that do not fit the others, and why. If there are any, nothing has begun.
    std::vector<std::pair<std::string, std::string>> refused;
  };
  // Of the first_clients() by name among the `sheets`.
  [[nodiscard]] static Result<Start> begin(const Recipe& recipe, std::vector<SheetOf> sheets);

  // What write_to() has left in the run's folder, if it has.
  [[nodiscard]] static bool is_in(const std::filesystem::path& folder);
  [[nodiscard]] static Result<std::unique_ptr<Membership>> read(const Recipe& recipe,
                                                                const std::filesystem::path& folder);
  // From now on joining clients are written to this folder, too.
  [[nodiscard]] Status write_to(const std::filesystem::path& folder);

  // The client's place; its name and its sheet are sound (check_name(), check_sheet()). A usage error if its data are
  // not those that it came with, do not fit, or there is no room.
  [[nodiscard]] Result<ClientId> admit(const std::string& name, const DataSheet& sheet);

  struct Joined {
    ClientId client;
    ClientInfo info;
  };
  // Everybody that takes part.
  [[nodiscard]] std::vector<Joined> members() const;
  // Those that were admitted since the last call. They are there from `round` on, or later if their place is; it is on
  // disk before they are told of here.
  [[nodiscard]] Result<std::vector<Joined>> join(std::uint32_t round);

  [[nodiscard]] const Preparation& agreed() const { return agreed_; }
  // All that the server knew of their data when the run began: the other places have no samples.
  [[nodiscard]] std::unique_ptr<FederatedData> data() const;

 private:
  struct Member {
    std::string name;  // "": the place is free
    std::uint32_t rows = 0;
    std::uint32_t test_rows = 0;
    std::uint64_t fingerprint = 0;
    std::uint32_t since_round = 0;  // 0: it has been admitted, and waits for the next round
  };

  Membership(const Recipe& recipe, Preparation agreed);
  [[nodiscard]] Joined joined(std::uint32_t place) const;
  [[nodiscard]] Status write() const;
  [[nodiscard]] std::uint32_t earliest(std::uint32_t place) const;

  const DataOptions options_;
  const std::vector<std::uint32_t> late_;  // places, ascending
  const std::uint32_t late_round_;
  const Preparation agreed_;
  mutable std::mutex mutex_;
  std::vector<Member> places_;
  std::filesystem::path folder_;
};

}  // namespace muster
