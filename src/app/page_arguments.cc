#include "app/page_arguments.h"

#include <fmt/format.h>

#include "app/log_lines.h"

namespace muster {

void PageArguments::add_to(Command command) {
  command.add_flag("--ui", ui, "A live page in the browser while it runs, on loopback; its address is on stderr");
  command.add_option("--port", port, "Port of --ui; default: 7450, or any that is free").between(1, 65535);
}

Result<std::unique_ptr<LivePage>> PageArguments::start(const std::filesystem::path& out, RosterSource roster) const {
  if (!ui && port) return usage_error("--port {}: goes with --ui; add that, or leave it out", *port);
  if (!ui) return std::unique_ptr<LivePage>();
  MUSTER_ASSIGN(std::unique_ptr<LivePage> page, LivePage::start({.out = out,
                                                                 .port = static_cast<std::uint16_t>(port.value_or(0)),
                                                                 .preferred_port = kUsualPort,
                                                                 .roster = std::move(roster)}));
  log_line(LogLevel::kInfo, fmt::format("live page: {}", page->url()));
  return page;
}

void PageArguments::say_afterwards(const std::filesystem::path& out, bool quiet) const {
  if (!ui || quiet) return;
  const std::string folder = out == "runs" ? std::string() : " --out " + out.string();
  log_line(LogLevel::kInfo, fmt::format("the live page ended with the run; `muster ui{}` shows it again", folder));
}

}  // namespace muster
