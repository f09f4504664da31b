// What a command says about its command line: subcommands, options and flags, each with the variable that receives the
// value, and what to do then. Only argument_parser.cc knows the parser behind it, whose header takes longer to compile
// than all of a command.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/command_text.h"
#include "base/result.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace muster {

// What an option's value may be stored in.
template <typename T>
concept OptionValue =
    std::same_as<T, std::string> || std::same_as<T, std::vector<std::string>> || std::same_as<T, double> ||
    std::same_as<T, std::uint32_t> || std::same_as<T, std::uint64_t> || std::same_as<T, std::optional<double>> ||
    std::same_as<T, std::optional<std::uint32_t>> || std::same_as<T, std::optional<std::uint64_t>>;

// A handle to an option of a CommandLine, which outlives it. Every setting returns the handle, to be chained.
class Option {
 public:
  Option required();
  // Both ends are accepted.
  Option between(double least, double most);
  Option at_least(double least);
  // Shows the target's present value in the help.
  Option show_default();
  // Of a list: one value after each mention, so that what follows is not taken for another.
  Option one_at_a_time();
  // Whether it was given; known once an action runs.
  [[nodiscard]] bool given() const;

 private:
  friend class Command;
  explicit Option(CLI::Option* option) : option_(option) {}
  CLI::Option* option_;
};

// A handle to the program or one of its commands; copies mean the same command. The CommandLine outlives it.
class Command {
 public:
  // A parser with commands requires one of them.
  Command add_command(const std::string& name, const std::string& summary);
  // Another name for this command, e.g. an old one that scripts may still use.
  void add_alias(const std::string& name);
  // "name" is positional, "--name" is not. The target lives until the line has been run.
  template <OptionValue T>
  Option add_option(const std::string& name, T& target, const std::string& help);
  Option add_flag(const std::string& name, bool& target, const std::string& help);
  void set_footer(const std::string& text);
  // Whatever follows is accepted and left unread.
  void accept_anything();
  // All that it and its commands say about themselves.
  [[nodiscard]] CommandText describe() const;
  // Of a command with commands and an action of its own: none of them need be named.
  void set_commands_optional();
  // Called when the line names this command, and none of its own, and is complete.
  void set_action(std::function<Status()> action);
  // For an action that succeeds and yet ends the program with another status than 0.
  void set_exit_status(int status);

 private:
  friend class CommandLine;
  struct Outcome {
    Status status;
    int exit_status = 0;
  };
  Command(CLI::App* app, Outcome* outcome) : app_(app), outcome_(outcome) {}
  CLI::App* app_;
  Outcome* outcome_;
};

class CommandLine {
 public:
  CommandLine(const std::string& program, const std::string& summary, const std::string& version);
  ~CommandLine();

  [[nodiscard]] Command program();
  // Runs the action the words (without the program's own name) ask for and returns its outcome; a line that is not
  // understood is a usage error. Help and version go to stdout.
  [[nodiscard]] Status run(std::vector<std::string> words);
  // What the program ends with after a run without an error.
  [[nodiscard]] int exit_status() const { return outcome_.exit_status; }

 private:
  std::unique_ptr<CLI::App> app_;
  Command::Outcome outcome_;
};

}  // namespace muster
