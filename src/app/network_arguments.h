// Options that the commands of a deployment share.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "app/argument_parser.h"
#include "app/interruption.h"
#include "app/log_lines.h"
#include "base/file.h"
#include "data/shown_text.h"
#include "deploy/status_page.h"

namespace muster {

struct NetworkArguments {
  std::string pki;
  bool insecure = false;
  std::string announce;
  bool quiet = false;
  bool json_log = false;
  std::optional<std::uint32_t> metrics;
  std::string announce_metrics;

  void add_to(Command command, bool listens) {
    command.add_option("--pki", pki, "Folder with this process's certificate and key (see `muster pki issue`)");
    command.add_flag("--insecure", insecure, "Plain text instead of TLS, on loopback only: for a try on one machine");
    if (listens) {
      command.add_option("--announce", announce, "File to write the address to, once it can be dialled");
      command
          .add_option("--metrics", metrics,
                      "Port of loopback that answers GET /metrics (Prometheus) and /healthz; 0 is any; default: none")
          .between(0, 65535);
      command.add_option("--announce-metrics", announce_metrics, "File to write the address of --metrics to");
    }
    command.add_flag("--quiet", quiet, "Nothing on stderr but errors");
    command.add_flag("--log-json", json_log,
                     "One JSON object a line on stderr: time, role, level, message, and whom it is about");
  }

  // First of all: how this process speaks from now on, and that it ends well when it is interrupted.
  [[nodiscard]] const std::atomic<bool>& begin(const std::string& role) const {
    if (json_log) log_as_json(role);
    if (json_log) return catch_interruptions(nullptr);
    return catch_interruptions(role == "cloud" ? kFinishingRound : kLeavingRun);
  }

  // How the command of a peer ends: one that was interrupted says so by its exit status, and has not failed.
  [[nodiscard]] Status end(const Status& ended, Command command) const {
    if (ended.ok() || !was_interrupted()) return ended;
    if (const auto told = say()) told(ended.error().message);
    command.set_exit_status(interrupted_status());
    return {};
  }

  [[nodiscard]] std::function<void(const std::string&)> say() const {
    if (quiet) return {};
    // Some of it peers have said: whatever that is, it stays one line.
    return [](const std::string& line) { log_line(LogLevel::kInfo, logs_json() ? line : shown_text(line)); };
  }

  // The same of what happens at the network: logs for programs have a field for whom it is about.
  [[nodiscard]] SayNote note() const {
    if (quiet) return {};
    return [told = say()](const WireNote& note) {
      if (!logs_json()) return told(note.line);
      nlohmann::ordered_json fields = nlohmann::ordered_json::object();
      if (!note.peer.empty()) fields["peer"] = note.peer;
      if (!note.client.empty()) fields["client"] = note.client;
      if (note.clients > 0) fields["clients"] = note.clients;
      log_line(LogLevel::kInfo, note.line, fields);
    };
  }

  // For whoever waits for the address: the port is known once it is listened to. `listen`: host:port.
  [[nodiscard]] std::function<void(int)> listening(const std::string& listen) const {
    const std::string host = listen.substr(0, listen.rfind(':'));
    return [file = announce, host, told = say()](int port) {
      const std::string address = fmt::format("{}:{}", host, port);
      if (told) told("listening on " + address);
      if (!file.empty()) (void)write_file(file, address + "\n");
    };
  }

  [[nodiscard]] StatusPageOptions status() const {
    return {.port = metrics, .listening = [file = announce_metrics, told = say()](const std::string& address) {
              if (told) told("metrics on http://" + address + "/metrics");
              if (!file.empty()) (void)write_file(file, address + "\n");
            }};
  }
};

}  // namespace muster
