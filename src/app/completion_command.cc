// `muster completion bash|zsh`: a script that teaches a shell the command line.
#include <fmt/format.h>

#include <memory>

#include "app/commands.h"
#include "app/completion.h"
#include "base/names.h"

namespace muster {

void add_completion_command(Command program) {
  const auto shell = std::make_shared<std::string>();
  Command command = program.add_command("completion", "Print a script that completes commands in bash or zsh");
  command.add_option("shell", *shell, "bash or zsh").required();
  command.set_footer(
      "Examples:\n"
      "  eval \"$(muster completion bash)\"\n"
      "  muster completion zsh > ~/.zfunc/_muster");
  command.set_action([shell, program]() -> Status {
    const bool bash = *shell == "bash";
    if (!bash && *shell != "zsh") {
      return Error{ErrorCode::kUsage, unknown_name("shell", *shell, std::vector<std::string>{"bash", "zsh"})};
    }
    MUSTER_ASSIGN(const CompletionWords words, completion_words());
    const CommandText text = program.describe();
    fmt::print("{}", bash ? bash_completion(text, words) : zsh_completion(text, words));
    return {};
  });
}

}  // namespace muster
