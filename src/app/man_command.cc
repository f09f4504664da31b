// `muster man`: the manual page.
#include <fmt/format.h>

#include "app/commands.h"
#include "app/man_page.h"

namespace muster {

void add_man_command(Command program, const std::string& version) {
  Command command = program.add_command("man", "Print the manual page, which is all help in one");
  command.set_footer("Example:\n  muster man | man -l -");
  command.set_action([program, version]() -> Status {
    fmt::print("{}", man_page(program.describe(), version));
    return {};
  });
}

}  // namespace muster
