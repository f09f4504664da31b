// `muster ui`: the live page over all runs of a folder.
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <thread>

#include "app/commands.h"
#include "app/interruption.h"
#include "app/log_lines.h"
#include "web/gate.h"
#include "web/live_page.h"

namespace muster {
namespace {

struct UiArguments {
  std::optional<std::uint32_t> port;
  std::string out = "runs";
  std::string listen = "127.0.0.1";
  std::string token_file;
};

Status serve(const UiArguments& arguments) {
  LivePageOptions options{.out = arguments.out,
                          .address = arguments.listen,
                          .port = static_cast<std::uint16_t>(arguments.port.value_or(0)),
                          .preferred_port = kUsualPort,
                          .niceness = 0};
  MUSTER_ASSIGN(options.token, read_token(arguments.token_file, std::getenv("MUSTER_UI_TOKEN")));
  std::error_code error;
  if (std::filesystem::exists(arguments.out, error) && !std::filesystem::is_directory(arguments.out, error)) {
    return usage_error("--out {}: not a folder", arguments.out);
  }
  const std::atomic<bool>& over = catch_interruptions(nullptr);
  const bool secret = !options.token.empty();
  MUSTER_ASSIGN(const std::unique_ptr<LivePage> page, LivePage::start(std::move(options)));
  log_line(LogLevel::kInfo,
           fmt::format("live page: {}{}; Ctrl-C ends it", page->url(), secret ? ", with its token" : ""));
  if (!std::filesystem::exists(arguments.out, error)) {
    log_line(LogLevel::kInfo,
             fmt::format("note: there is no folder '{}' yet; runs appear when there are some", arguments.out));
  }
  while (!over) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  return {};
}

}  // namespace

void add_ui_command(Command program) {
  auto arguments = std::make_shared<UiArguments>();
  Command command = program.add_command("ui", "A live page in the browser over all runs: watch, look into, compare");
  command.add_option("--port", arguments->port, "Port; default: 7450, or any that is free").between(1, 65535);
  command.add_option("--out", arguments->out, "Folder with the runs' folders").show_default();
  command
      .add_option("--listen", arguments->listen,
                  "Address; one that is not this machine's loopback needs a token, and all goes in plain text")
      .show_default();
  command.add_option("--token-file", arguments->token_file,
                     "File with a token that the page wants, 16 to 512 visible characters; default: the environment "
                     "variable MUSTER_UI_TOKEN, or none");
  command.set_footer(
      "Examples:\n"
      "  muster ui\n"
      "  muster ui --out experiments/runs --port 8000\n"
      "  muster ui --listen 192.168.1.20 --token-file page.token\n"
      "The page only shows; nothing can be started or changed there. `muster run --ui` has it beside a run.");
  command.set_action([arguments, command]() mutable -> Status {
    MUSTER_TRY(serve(*arguments));
    command.set_exit_status(interrupted_status());
    return {};
  });
}

}  // namespace muster
