// Options that the commands of a deployment share.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <functional>
#include <string>

#include "app/argument_parser.h"
#include "base/file.h"

namespace muster {

struct NetworkArguments {
  std::string pki;
  bool insecure = false;
  std::string announce;
  bool quiet = false;

  void add_to(Command command, bool listens) {
    command.add_option("--pki", pki, "Folder with this process's certificate and key (see `muster pki issue`)");
    command.add_flag("--insecure", insecure, "Plain text instead of TLS, on loopback only: for a try on one machine");
    if (listens) command.add_option("--announce", announce, "File to write the address to, once it can be dialled");
    command.add_flag("--quiet", quiet, "Nothing on stderr but errors");
  }

  [[nodiscard]] std::function<void(const std::string&)> say() const {
    if (quiet) return {};
    return [](const std::string& line) { std::fprintf(stderr, "muster: %s\n", line.c_str()); };
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
};

}  // namespace muster
