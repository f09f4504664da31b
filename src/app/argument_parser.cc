#include "app/argument_parser.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <limits>

#include "base/names.h"

namespace muster {
namespace {

// "" if the text is a whole number that T can hold, without a sign: the parser itself takes -1 for the largest of them.
template <typename T>
std::string check_whole(const std::string& text) {
  T value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size()) return {};
  return fmt::format("{}, want a whole number, 0 to {}", text, std::numeric_limits<T>::max());
}

template <typename T>
struct Contained {
  using Type = T;
};
template <typename T>
struct Contained<std::optional<T>> {
  using Type = T;
};

// The program, the command that the line names, that command's own, ...
std::vector<const CLI::App*> named_commands(const CLI::App& program) {
  std::vector<const CLI::App*> named{&program};
  while (!named.back()->get_subcommands().empty()) named.push_back(named.back()->get_subcommands().front());
  return named;
}

// What is wrong with a line that was not understood. Where a command is missing or mistyped, the parser itself says
// only that one is required.
std::string misuse(const CLI::App& program, const CLI::ParseError& error) {
  const CLI::App* const named = named_commands(program).back();
  const bool wants_command = named->get_require_subcommand_min() > 0;
  if (!wants_command && dynamic_cast<const CLI::ExtrasError*>(&error) == nullptr) return error.what();
  const std::vector<std::string> unknown = program.remaining(true);
  if (unknown.empty() && !wants_command) return error.what();
  if (!unknown.empty() && unknown.front().starts_with('-')) {
    return fmt::format("{}: not an option of {}", unknown.front(), named->get_name());
  }
  std::vector<std::string> commands;
  for (const CLI::App* command : named->get_subcommands({})) commands.push_back(command->get_name());
  if (commands.empty()) return fmt::format("{}: one argument too many for {}", unknown.front(), named->get_name());
  if (unknown.empty()) return fmt::format("{} needs a command: {}", named->get_name(), fmt::join(commands, ", "));
  return unknown_name("command", unknown.front(), commands);
}

CommandText text_of(const CLI::App& app) {
  CommandText text{.name = app.get_name(), .summary = app.get_description(), .footer = app.get_footer()};
  for (const CLI::Option* const option : app.get_options()) {
    if (option == app.get_help_ptr() || option->check_lname("version")) continue;
    text.options.push_back({.name = option->get_name(),
                            .value = option->get_items_expected_max() == 0 ? "" : option->get_type_name(),
                            .help = option->get_description(),
                            .otherwise = option->get_default_str(),
                            .positional = option->get_positional(),
                            .required = option->get_required()});
  }
  for (const CLI::App* const command : app.get_subcommands({})) text.commands.push_back(text_of(*command));
  return text;
}

}  // namespace

Option Option::required() {
  option_->required();
  return *this;
}

Option Option::between(double least, double most) {
  const std::string accepted = most == std::numeric_limits<double>::infinity() ? fmt::format("at least {}", least)
                                                                               : fmt::format("{} to {}", least, most);
  const auto complaint = [=](const std::string& text) -> std::string {
    double value = 0;
    if (CLI::detail::lexical_cast(text, value) && value >= least && value <= most) return {};
    return fmt::format("{}, want {}", text, accepted);
  };
  // A check comes last, a transform first: before the one on whole numbers, which knows a wider range.
  option_->transform(CLI::Validator(complaint, accepted));
  return *this;
}

Option Option::at_least(double least) {
  return between(least, std::numeric_limits<double>::infinity());
}

Option Option::show_default() {
  option_->capture_default_str();
  return *this;
}

Option Option::one_at_a_time() {
  option_->allow_extra_args(false);
  return *this;
}

bool Option::given() const {
  return option_->count() > 0;
}

Command Command::add_command(const std::string& name, const std::string& summary) {
  app_->require_subcommand(1);
  return {app_->add_subcommand(name, summary), outcome_};
}

void Command::add_alias(const std::string& name) {
  app_->alias(name);
}

template <OptionValue T>
Option Command::add_option(const std::string& name, T& target, const std::string& help) {
  CLI::Option* option = app_->add_option(name, target, help);
  using Value = typename Contained<T>::Type;
  if constexpr (std::unsigned_integral<Value>) option->check(check_whole<Value>, "");
  return Option(option);
}

template Option Command::add_option(const std::string&, std::string&, const std::string&);
template Option Command::add_option(const std::string&, std::vector<std::string>&, const std::string&);
template Option Command::add_option(const std::string&, double&, const std::string&);
template Option Command::add_option(const std::string&, std::uint32_t&, const std::string&);
template Option Command::add_option(const std::string&, std::uint64_t&, const std::string&);
template Option Command::add_option(const std::string&, std::optional<double>&, const std::string&);
template Option Command::add_option(const std::string&, std::optional<std::uint32_t>&, const std::string&);
template Option Command::add_option(const std::string&, std::optional<std::uint64_t>&, const std::string&);

Option Command::add_flag(const std::string& name, bool& target, const std::string& help) {
  return Option(app_->add_flag(name, target, help));
}

CommandText Command::describe() const {
  return text_of(*app_);
}

void Command::set_footer(const std::string& text) {
  app_->footer(text);
}

void Command::accept_anything() {
  app_->prefix_command();
}

void Command::set_action(std::function<Status()> action) {
  app_->callback([action = std::move(action), app = app_, outcome = outcome_] {
    if (app->get_subcommands().empty()) outcome->status = action();
  });
}

void Command::set_commands_optional() {
  app_->require_subcommand(0, 1);
}

void Command::set_exit_status(int status) {
  outcome_->exit_status = status;
}

CommandLine::CommandLine(const std::string& program, const std::string& summary, const std::string& version)
    : app_(std::make_unique<CLI::App>(summary, program)) {
  app_->set_version_flag("--version", version);
}

CommandLine::~CommandLine() = default;

Command CommandLine::program() {
  return {app_.get(), &outcome_};
}

Status CommandLine::run(std::vector<std::string> words) {
  std::ranges::reverse(words);  // as the parser wants them
  try {
    app_->parse(std::move(words));
  } catch (const CLI::Success& help_or_version) {
    app_->exit(help_or_version);
  } catch (const CLI::ParseError& error) {
    std::string named;
    for (const CLI::App* const command : named_commands(*app_)) named += command->get_name() + " ";
    return usage_error("{}; `{}--help` shows what is accepted", misuse(*app_, error), named);
  }
  return outcome_.status;
}

}  // namespace muster
