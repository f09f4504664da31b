// CommandText: all that the command line says about itself, as data. Help, the man page and shell completion are made
// of it.
#pragma once

#include <string>
#include <vector>

namespace muster {

struct OptionText {
  std::string name;        // "--rounds", or "recipe" of one without dashes
  std::string value = {};  // what it takes, e.g. "UINT"; "" = a flag
  std::string help = {};
  std::string otherwise = {};  // its value where it is not given; "" = the help says
  bool positional = false;
  bool required = false;
};

struct CommandText {
  std::string name;
  std::string summary;
  std::string footer;               // examples; a line that begins with two blanks is one
  std::vector<OptionText> options;  // without --help and --version
  std::vector<CommandText> commands;
};

}  // namespace muster
