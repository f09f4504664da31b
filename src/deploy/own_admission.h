// How the cloud takes clients with data of their own: it tells them how to read, gathers their sheets, lets those begin
// that fit each other, and later ones join between rounds. All but listening.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "deploy/membership.h"
#include "wire/edge_federation.h"

namespace muster {

class OwnAdmission : public std::enable_shared_from_this<OwnAdmission> {
 public:
  // Of a run that begins; of one that is resumed, whose clients are known.
  explicit OwnAdmission(const Recipe& recipe)
      : options_(recipe.data), hides_samples_(recipe.training.secure.hides_samples()) {}
  [[nodiscard]] static Result<std::shared_ptr<OwnAdmission>> resume(const Recipe& recipe,
                                                                    const std::filesystem::path& folder);

  // For RemoteClients; keeps this object alive.
  [[nodiscard]] RemoteClients::Admit admit();
  [[nodiscard]] static v1::HowToRead how_to_read(const Recipe& recipe);

  // Waits until enough clients have told their sheets and fit each other; the others are refused, with the reason.
  // `go_on` is told how many of how many are there, and says whether to wait for more. Fails when
  // deployment.round-deadline-s are over before enough are there.
  using GoOn = std::function<bool(std::size_t came, std::size_t wanted)>;
  [[nodiscard]] Status gather(const Recipe& recipe, RemoteClients& clients, const GoOn& go_on);
  // The run of the folder begins, or goes on: clients get their numbers, and `federation` its roster. Both are borrowed
  // until the run is over.
  [[nodiscard]] Status begin(WireRun run, RemoteClients& clients, EdgeFederation& federation,
                             const std::filesystem::path& folder);
  // By the round loop's thread, before `round`: clients that have come meanwhile are there from then on.
  void let_join(std::uint32_t round, const std::function<void(const std::string&)>& say);

  // Null until it has been gathered.
  [[nodiscard]] const Membership* membership() const { return membership_.get(); }

 private:
  void enter_members(std::uint32_t round);

  // What a client tells of its data, as far as the cloud wants to know.
  [[nodiscard]] DataSheet heard(const v1::DataSheet& told) const;

  const DataOptions options_;
  const bool hides_samples_;
  mutable std::mutex mutex_;  // of the membership's pointer
  std::unique_ptr<Membership> membership_;
  RemoteClients* clients_ = nullptr;
  EdgeFederation* federation_ = nullptr;
};

}  // namespace muster
