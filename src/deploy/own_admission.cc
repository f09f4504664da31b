#include "deploy/own_admission.h"

#include <chrono>
#include <cmath>

#include "pki/identity.h"
#include "wire/wire_sheet.h"

namespace muster {
namespace {

// Of a Welcome, which is one frame of at most 4 MiB.
constexpr std::size_t kMostPreparation = std::size_t{3} << 20;

}  // namespace

Result<std::shared_ptr<OwnAdmission>> OwnAdmission::resume(const Recipe& recipe, const std::filesystem::path& folder) {
  auto made = std::make_shared<OwnAdmission>(recipe);
  MUSTER_ASSIGN(made->membership_, Membership::read(recipe, folder));
  return made;
}

v1::HowToRead OwnAdmission::how_to_read(const Recipe& recipe) {
  v1::HowToRead how;
  how.set_recipe(format_recipe(recipe));
  return how;
}

DataSheet OwnAdmission::heard(const v1::DataSheet& told) const {
  return hides_samples_ ? without_counts(take_sheet(told)) : take_sheet(told);
}

RemoteClients::Admit OwnAdmission::admit() {
  return [self = shared_from_this()](const std::vector<v1::Client>& told) -> Result<RemoteClients::Admitted> {
    std::vector<ClientId> ids;
    for (const v1::Client& client : told) {
      if (!client.has_name()) {
        return usage_error("client {}: the clients of this run bring data of their own (muster client --data FILE)",
                           client.simulated());
      }
      MUSTER_TRY(check_name(client.name()));
      if (!client.has_data()) return usage_error("{}: no data sheet", client.name());
      const DataSheet sheet = self->heard(client.data());
      MUSTER_TRY(check_sheet(sheet, self->options_));
      const std::lock_guard lock(self->mutex_);
      if (!self->clients_) return RemoteClients::Admitted();  // the run has not begun
      MUSTER_ASSIGN(const ClientId id, self->membership_->admit(client.name(), sheet));
      self->clients_->expect_values(std::uint64_t{sheet.rows} + sheet.test_rows);
      ids.push_back(id);
    }
    return RemoteClients::Admitted(std::move(ids));
  };
}

Status OwnAdmission::gather(const Recipe& recipe, RemoteClients& clients, const GoOn& go_on) {
  const std::uint32_t wanted = Membership::first_clients(recipe);
  const std::uint32_t least = recipe.deployment.wait_clients.of(wanted);
  const double patience_s = recipe.deployment.round_deadline_s;
  const WireTime deadline =
      std::chrono::steady_clock::now() + std::chrono::milliseconds(std::llround(1000 * patience_s));
  while (true) {
    const std::size_t there =
        clients.wait_for_waiting(wanted, deadline, [&](std::size_t came) { return go_on(came, wanted); });
    if (there < least) {
      if (std::chrono::steady_clock::now() < deadline) {
        return failure("interrupted while {} of {} clients were here", there, wanted);
      }
      return failure("{} of {} clients came within {:.0f} s; deployment.wait-clients wants {}", there, wanted,
                     patience_s, least);
    }
    std::vector<SheetOf> sheets;
    for (const v1::Client& client : clients.waiting()) {
      sheets.push_back({.name = client.name(), .sheet = heard(client.data())});
    }
    if (sheets.size() < least) continue;  // somebody has gone since
    MUSTER_ASSIGN(Membership::Start start, Membership::begin(recipe, std::move(sheets)));
    if (start.membership) {
      if (to_json(start.membership->agreed()).size() > kMostPreparation) {
        return failure("what the clients' labels, columns and categories are takes more than {} MiB; leave columns out",
                       kMostPreparation >> 20);
      }
      const std::lock_guard lock(mutex_);
      membership_ = std::move(start.membership);
      return {};
    }
    for (const auto& [name, why] : start.refused) {
      v1::Client client;
      client.set_name(name);
      clients.refuse(client, why, false);
    }
  }
}

Status OwnAdmission::begin(WireRun run, RemoteClients& clients, EdgeFederation& federation,
                           const std::filesystem::path& folder) {
  MUSTER_TRY(membership_->write_to(folder));
  federation_ = &federation;
  enter_members(1);
  run.welcome.set_preparation(to_json(membership_->agreed()));
  clients.begin(std::move(run));
  {
    const std::lock_guard lock(mutex_);
    clients_ = &clients;
  }
  clients.admit_waiting();
  return {};
}

// Before its first round nobody counts on a client's tests, as if it had not come yet: whether it has, is not the same
// in a run that is resumed.
void OwnAdmission::enter_members(std::uint32_t round) {
  for (Membership::Joined& joined : membership_->members()) {
    if (joined.info.since_round > round) joined.info.test_samples = joined.info.validation_samples = 0;
    federation_->set_client(joined.client, joined.info);
  }
}

void OwnAdmission::let_join(std::uint32_t round, const std::function<void(const std::string&)>& say) {
  const Result<std::vector<Membership::Joined>> joined = membership_->join(round);
  if (!joined && say) say(fmt::format("nobody can join now: {}", joined.error().message));
  enter_members(round);
  if (!joined || !say) return;
  for (const Membership::Joined& one : *joined) {
    say(fmt::format("{} joins from round {} on, as client {}", one.info.name, one.info.since_round, one.client.value) +
        (federation_->roster().hides_samples() ? "" : fmt::format(": {} training samples", one.info.train_samples)));
  }
}

}  // namespace muster
