#include "app/man_page.h"

#include <fmt/format.h>

#include <sstream>

namespace muster {
namespace {

// A text of ours as roff: nothing in it is a request.
std::string roff(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    if (c == '\\') {
      safe += "\\e";
    } else if (c == '-') {
      safe += "\\-";
    } else if ((c == '.' || c == '\'') && (safe.empty() || safe.back() == '\n')) {
      safe += std::string("\\&") + c;
    } else {
      safe += c;
    }
  }
  return safe;
}

// Paragraphs, and examples as they are written.
std::string footer_of(const std::string& footer) {
  std::string page;
  bool example = false;
  std::istringstream lines(footer);
  for (std::string line; std::getline(lines, line);) {
    if (line.empty()) continue;
    const bool indented = line.starts_with("  ");
    if (indented != example) page += indented ? ".RS 4\n.nf\n" : ".fi\n.RE\n";
    example = indented;
    page += indented ? roff(line.substr(2)) + "\n" : ".PP\n" + roff(line) + "\n";
  }
  if (example) page += ".fi\n.RE\n";
  return page;
}

std::string synopsis_of(const CommandText& command, const std::string& path) {
  std::string line = fmt::format("\\fB{}\\fR", roff(path));
  for (const OptionText& option : command.options) {
    if (!option.positional) continue;
    const std::string name = fmt::format("\\fI{}\\fR", roff(option.name));
    line += option.required ? " " + name : " [" + name + "]";
  }
  return line + " [\\fIoptions\\fR]";
}

std::string options_of(const CommandText& command) {
  std::string page;
  for (const OptionText& option : command.options) {
    page += fmt::format(".TP\n\\f{}{}\\fR", option.positional ? 'I' : 'B', roff(option.name));
    if (!option.positional && !option.value.empty()) page += fmt::format(" \\fI{}\\fR", roff(option.value));
    page += "\n" + roff(option.help);
    if (!option.otherwise.empty()) page += fmt::format(" (default: {})", roff(option.otherwise));
    page += "\n";
  }
  return page;
}

std::string commands_of(const CommandText& command, const std::string& path) {
  std::string page;
  for (const CommandText& below : command.commands) {
    const std::string full = path + " " + below.name;
    page += fmt::format(".SS {}\n{}\n.PP\n{}.\n", roff(full.substr(full.find(' ') + 1)), roff(below.summary),
                        below.commands.empty() || !below.options.empty() ? synopsis_of(below, full)
                                                                         : "It has commands of its own, below");
    page += options_of(below) + footer_of(below.footer) + commands_of(below, full);
  }
  return page;
}

}  // namespace

std::string man_page(const CommandText& program, const std::string& version) {
  std::string page = fmt::format(".TH MUSTER 1 \"\" \"{}\" \"User Commands\"\n", roff(version));
  page += fmt::format(".SH NAME\n{} \\- {}\n", program.name, roff(program.summary));
  page += ".SH SYNOPSIS\n";
  page += fmt::format(".B {}\n\\fIcommand\\fR [\\fIoptions\\fR]\n", program.name);
  page += ".SH DESCRIPTION\n" + footer_of(program.footer) + options_of(program);
  page += ".SH COMMANDS\n" + commands_of(program, program.name);
  return page;
}

}  // namespace muster
