// `muster pki`: the authority of a deployment, and the certificates that it issues and takes back.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "app/commands.h"
#include "app/network_summaries.h"
#include "base/names.h"
#include "pki/authority.h"
#include "record/json_text.h"

namespace muster {
namespace {

struct InitArguments {
  std::string folder;
  std::string name = AuthorityOptions{}.name;
  std::uint32_t days = kAuthorityDays;
  std::string key = "p256";
};

Status init(const InitArguments& arguments) {
  AuthorityOptions options{.name = arguments.name, .days = arguments.days};
  MUSTER_ASSIGN(options.key, parse_key_kind(arguments.key));
  const sys_seconds now = utc_now();
  MUSTER_TRY(make_authority(arguments.folder, options, now));
  fmt::print("{}: authority {}, valid until {}\n", arguments.folder, options.name,
             date_text(now + std::chrono::days(options.days)));
  return {};
}

struct IssueArguments {
  std::string folder;
  std::string role;
  std::string name;
  std::string hosts;
  std::string clients;
  std::optional<std::uint32_t> days;
  std::string out;
  bool renew = false;
};

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; !text.empty() && begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

Status issue(const IssueArguments& arguments) {
  IssueRequest request{.name = arguments.name,
                       .hosts = split(arguments.hosts),
                       .days = arguments.days,
                       .out = arguments.out,
                       .renew = arguments.renew};
  MUSTER_ASSIGN(request.role, parse_role(arguments.role));
  if (!arguments.clients.empty()) {
    MUSTER_ASSIGN(request.clients, parse_client_ranges(arguments.clients));
  }
  const sys_seconds now = utc_now();
  MUSTER_ASSIGN(Authority authority, Authority::open(arguments.folder, now));
  MUSTER_ASSIGN(const IssuedBundle bundle, authority.issue(request, now));
  const Identity& identity = bundle.certificate.identity;
  fmt::print("{}: {}, serial {}, valid until {}\n", bundle.folder.string(), identity.shown(), identity.serial,
             date_text(identity.not_after));
  return {};
}

struct RevokeArguments {
  std::string folder;
  std::string which;
};

Status revoke(const RevokeArguments& arguments) {
  const sys_seconds now = utc_now();
  MUSTER_ASSIGN(Authority authority, Authority::open(arguments.folder, now));
  MUSTER_ASSIGN(const std::vector<IssuedCertificate> revoked, authority.revoke(arguments.which, now));
  for (const IssuedCertificate& issued : revoked) {
    fmt::print("revoked {}, serial {}\n", issued.identity.shown(), issued.identity.serial);
  }
  fmt::print("copy {} to the folders of cloud, edges and clients on other machines; running processes notice\n",
             (std::filesystem::path(arguments.folder) / "ca.crl").string());
  return {};
}

struct ListArguments {
  std::string folder;
  bool json = false;
};

std::string state_of(const IssuedCertificate& issued, sys_seconds now) {
  if (issued.revoked) return fmt::format("revoked {}", date_text(*issued.revoked));
  return now >= issued.identity.not_after ? "expired" : "valid";
}

void print_json(const AuthorityListing& listing, sys_seconds now) {
  auto certificates = nlohmann::ordered_json::array();
  for (const IssuedCertificate& issued : listing.certificates) {
    const Identity& identity = issued.identity;
    certificates.push_back({{"name", identity.name},
                            {"role", role_name(identity.role)},
                            {"clients", to_string(identity.clients)},
                            {"serial", identity.serial},
                            {"not_before", time_text(issued.not_before)},
                            {"not_after", time_text(identity.not_after)},
                            {"revoked", nullptr},
                            {"expired", now >= identity.not_after}});
    if (issued.revoked) certificates.back()["revoked"] = time_text(*issued.revoked);
  }
  const nlohmann::ordered_json authority{
      {"name", listing.name}, {"key", key_kind_name(listing.key)}, {"not_after", time_text(listing.not_after)}};
  nlohmann::ordered_json all;
  all["authority"] = authority;
  all["certificates"] = std::move(certificates);
  fmt::print("{}\n", json_text(all));
}

Status list(const ListArguments& arguments) {
  const sys_seconds now = utc_now();
  MUSTER_ASSIGN(const AuthorityListing listing, list_issued(arguments.folder));
  if (arguments.json) return print_json(listing, now), Status();
  fmt::print("authority {}, {}, valid until {}; {}\n", listing.name, key_kind_name(listing.key),
             date_text(listing.not_after), counted(listing.certificates.size(), "certificate"));
  for (const IssuedCertificate& issued : listing.certificates) {
    const Identity& identity = issued.identity;
    fmt::print("  {:<6} {:<20} {}  {} to {}  {}{}\n", role_name(identity.role), identity.name, identity.serial,
               date_text(issued.not_before), date_text(identity.not_after), state_of(issued, now),
               identity.clients.empty() ? "" : fmt::format(", for clients {}", to_string(identity.clients)));
  }
  return {};
}

constexpr const char* kFolderHelp = "The authority's folder";

void add_init(Command pki) {
  auto arguments = std::make_shared<InitArguments>();
  Command command = pki.add_command("init", "Make an authority, which signs all certificates of a deployment");
  command.add_option("folder", arguments->folder, "Folder to make; nothing is overwritten").required();
  command.add_option("--name", arguments->name, "Name of the authority, for people").show_default();
  command.add_option("--days", arguments->days, "Days that it is valid").between(1, 36500).show_default();
  command
      .add_option("--key", arguments->key,
                  "Kind of all keys: p256, which every TLS library accepts, or ed25519, which is smaller and faster")
      .show_default();
  command.set_footer(
      "Examples:\n"
      "  muster pki init pki\n"
      "  muster pki init pki --name clinics --days 730 --key ed25519");
  command.set_action([arguments] { return init(*arguments); });
}

void add_issue(Command pki) {
  auto arguments = std::make_shared<IssueArguments>();
  Command command =
      pki.add_command("issue", "Make key and certificate of one process, as a folder to copy to its machine");
  command.add_option("folder", arguments->folder, kFolderHelp).required();
  command.add_option("--role", arguments->role, "cloud, edge or client").required();
  command.add_option("--name", arguments->name, "1 to 64 of A-Z a-z 0-9 . _ -; belongs to one process").required();
  command.add_option("--host", arguments->hosts,
                     "Names and addresses, with commas between, that a cloud or an edge is called by; default: "
                     "localhost,127.0.0.1,::1");
  command.add_option("--clients", arguments->clients,
                     "Numbers of the simulated clients that a client process stands for, e.g. 0-49,60");
  command
      .add_option("--days", arguments->days,
                  fmt::format("Days that it is valid; default: {}, or as long as the authority", kCertificateDays))
      .between(1, 36500);
  command.add_option("--out", arguments->out, "Folder to make; default: ROLE-NAME in the authority's folder");
  command.add_flag("--renew", arguments->renew,
                   "Issue another one although the name has a valid certificate; both are valid until the first ends");
  command.set_footer(
      "Examples:\n"
      "  muster pki issue pki --role cloud --name main --host cloud.example.org,10.0.0.5\n"
      "  muster pki issue pki --role client --name site-3 --days 90\n"
      "  muster pki issue pki --role client --name sim-0 --clients 0-49");
  command.set_action([arguments] { return issue(*arguments); });
}

void add_revoke(Command pki) {
  auto arguments = std::make_shared<RevokeArguments>();
  Command command =
      pki.add_command("revoke", "Take certificates back: write the list of those that nobody accepts any more");
  command.add_option("folder", arguments->folder, kFolderHelp).required();
  command.add_option("which", arguments->which, "A name, or a serial number as `muster pki list` shows it").required();
  command.set_footer(
      "Examples:\n"
      "  muster pki revoke pki site-3\n"
      "  muster pki revoke pki 6F1D3A9C0B7E4D25A8C1F0E2937B5D44");
  command.set_action([arguments] { return revoke(*arguments); });
}

void add_list(Command pki) {
  auto arguments = std::make_shared<ListArguments>();
  Command command = pki.add_command("list", "Show what an authority has issued");
  command.add_option("folder", arguments->folder, kFolderHelp).required();
  command.add_flag("--json", arguments->json, "The result as one JSON object");
  command.set_footer("Example:\n  muster pki list pki");
  command.set_action([arguments] { return list(*arguments); });
}

}  // namespace

void add_pki_command(Command program) {
  Command pki = program.add_command(kPkiSummary.name, kPkiSummary.text);
  pki.set_footer(
      "Examples:\n"
      "  muster pki init pki\n"
      "  muster pki issue pki --role client --name site-3\n"
      "  muster pki revoke pki site-3");
  add_init(pki);
  add_issue(pki);
  add_revoke(pki);
  add_list(pki);
}

}  // namespace muster
