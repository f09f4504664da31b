#include "deploy/edge_run.h"

#include "deploy/member_certificate.h"
#include "recipe/recipe.h"
#include "wire/relay.h"
#include "wire/wire_sheet.h"

namespace muster {
namespace {

constexpr std::uint32_t kRelayThreads = 64;     // asks that wait for clients at a time
constexpr std::chrono::seconds kEdgeLinger{3};  // to tell those who are away that the run is over

// Simulated clients are known by their numbers; who one with data of its own is, is the cloud's to say.
Result<RemoteClients::Admitted> ids_of(const std::vector<v1::Client>& clients) {
  std::vector<ClientId> ids;
  for (const v1::Client& client : clients) {
    if (client.has_name()) {
      if (clients.size() > 1) return usage_error("{}: one process speaks for one client with data", client.name());
      MUSTER_TRY(check_name(client.name()));
      if (!client.has_data()) return usage_error("{}: this run's clients are simulated", client.name());
      MUSTER_TRY(check_sheet_size(client.data()));
      return RemoteClients::Admitted();
    }
    ids.push_back({client.simulated()});
  }
  return RemoteClients::Admitted(std::move(ids));
}

}  // namespace

RemoteClients::Admit edge_admission() {
  return ids_of;
}

Answerer::Options edge_answers(RemoteClients& clients, const Security& security, SayNote say) {
  Answerer::Options answers{.threads = kRelayThreads, .limits = kDialerLimits, .say = std::move(say)};
  answers.hello.set_version(1);
  answers.hello.set_program("muster");
  answers.hello.set_hosts_groups(true);
  answers.begin = [&clients, security](const v1::Welcome& welcome) -> Result<std::shared_ptr<Workplace>> {
    MUSTER_ASSIGN(const Recipe recipe, parse_recipe(welcome.recipe(), "the cloud's recipe"));
    MUSTER_ASSIGN(std::unique_ptr<GroupTrainer> trainer,
                  make_group_trainer(recipe.training, recipe.aggregation, recipe.dp, recipe.seed));
    if (welcome.preparation().empty()) clients.set_how_to_read(std::nullopt);
    clients.begin({.welcome = welcome, .most_values = welcome.most_values()});
    return make_relay(clients, std::move(trainer), make_member_verifier(security, recipe.seed));
  };
  answers.pass_on = [&clients](const v1::Frame& news) {
    if (news.has_how_to_read()) clients.set_how_to_read(news.how_to_read());
    if (news.admission().most_values() > 0) clients.expect_values(news.admission().most_values());
    for (const v1::Admitted& one : news.admission().clients()) {
      if (one.has_refusal()) {
        clients.refuse(one.client(), one.refusal().reason(), one.refusal().again());
      } else {
        clients.admit(one.client(), {one.id()});
      }
    }
  };
  return answers;
}

Result<std::string> run_edge(const EdgeRunOptions& options) {
  Answerer* upwards = nullptr;
  WireEvents events{.say = options.say,
                    .presence = [&upwards](const auto& came, const auto& went) { upwards->presence(came, went); }};
  RemoteClients clients(edge_admission(), std::move(events));
  Answerer answerer(edge_answers(clients, options.security, options.say));
  upwards = &answerer;
  StatusPage page("edge");
  page.watch(clients);
  page.set_health_check([&answerer]() -> std::string {
    if (answerer.wait_closed({})) {
      const std::string why = answerer.why_closed();
      return why.empty() ? "not connected to the cloud yet" : "not connected to the cloud: " + why;
    }
    return answerer.welcomed() ? "" : "waiting for the cloud to begin a run";
  });
  MUSTER_TRY(page.start(options.status));
  MUSTER_ASSIGN(
      std::unique_ptr<Listener> listener,
      Listener::start(
          {.address = options.listen,
           .credentials = options.security.credentials,
           .attach =
               [&](const std::string& certificate, const std::string& address, std::shared_ptr<Channel> channel) {
                 return let_in(clients, options.security, false, certificate, address, std::move(channel));
               },
           .say = options.say}));
  if (options.listening) options.listening(listener->port());
  Result<std::string> signature = stay_connected(answerer, {.addresses = {options.cloud},
                                                            .credentials = options.security.credentials,
                                                            .patience_s = options.patience_s,
                                                            .interrupt = options.interrupt,
                                                            .say = options.say});
  // With the run its clients end, too; without one they look for the cloud themselves.
  if (signature) {
    clients.finish(*signature);
    clients.wait_until_told(std::chrono::steady_clock::now() + kEdgeLinger);
  }
  listener.reset();
  return signature;
}

}  // namespace muster
