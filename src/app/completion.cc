#include "app/completion.h"

#include <fmt/ranges.h>

#include <functional>

#include "data/catalogue.h"
#include "grouping/grouping_method.h"
#include "recipe/catalogue.h"
#include "recipe/composition.h"
#include "recipe/recipe.h"

namespace muster {
namespace {

// What may stand in place of an argument or a value.
enum class Kind { kNothing, kFile, kFolder, kRecipe, kTask, kStage, kMethod, kSource, kKey };

Kind kind_of(const OptionText& option) {
  if (option.positional) {
    if (option.name == "recipe") return Kind::kRecipe;
    if (option.name == "stage") return Kind::kStage;
    if (option.name == "method") return Kind::kMethod;
    if (option.name == "source" || option.name == "name") return Kind::kSource;
  }
  if (option.name == "--set" || option.name == "--grid") return Kind::kKey;
  if (option.name == "--task") return Kind::kTask;
  if (option.help.find("older") != std::string::npos) return Kind::kFolder;  // "Folder to ...", "its folder"
  return option.positional || option.value == "TEXT" ? Kind::kFile : Kind::kNothing;
}

// Keys that the command at `path` takes, each with the sign that comes next: those of grouping are written without it.
std::vector<std::string> keys_for(const std::string& path, const CompletionWords& words) {
  const bool grouping = path.ends_with(" group");
  const std::string section = grouping ? "grouping." : path.find(" data ") != std::string::npos ? "data." : "";
  std::vector<std::string> begun;
  for (const std::string& key : words.keys) {
    if (key.starts_with(section)) begun.push_back((grouping ? key.substr(section.size()) : key) + "=");
  }
  return begun;
}

std::vector<std::string> words_of(Kind kind, const std::string& path, const CompletionWords& words) {
  switch (kind) {
    case Kind::kRecipe:
      return words.recipes;
    case Kind::kTask:
      return words.tasks;
    case Kind::kStage:
      return words.stages;
    case Kind::kMethod:
      return words.methods;
    case Kind::kSource:
      return words.sources;
    case Kind::kKey:
      return keys_for(path, words);
    default:
      return {};
  }
}

// Names of files may stand there too.
bool takes_files(Kind kind) {
  return kind == Kind::kFile || kind == Kind::kRecipe || kind == Kind::kTask || kind == Kind::kSource;
}

// Every command with the words that lead to it: "muster", "muster data", "muster data list".
void walk(const CommandText& command, const std::string& path,
          const std::function<void(const CommandText&, const std::string&)>& visit) {
  visit(command, path);
  for (const CommandText& below : command.commands) walk(below, path + " " + below.name, visit);
}

// For between single quotes.
std::string quoted(const std::string& text) {
  std::string safe;
  for (const char c : text) safe += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return "'" + safe + "'";
}

std::string joined(const std::vector<std::string>& words) {
  return quoted(fmt::format("{}", fmt::join(words, " ")));
}

// `'muster data'|'muster data list'`: all but the program itself.
std::string all_paths(const CommandText& program) {
  std::vector<std::string> paths;
  walk(program, program.name, [&](const CommandText& command, const std::string& path) {
    if (&command != &program) paths.push_back(quoted(path));
  });
  return fmt::format("{}", fmt::join(paths, "|"));
}

std::vector<std::string> names_of(const std::vector<CommandText>& commands) {
  std::vector<std::string> names;
  for (const CommandText& command : commands) names.push_back(command.name);
  return names;
}

std::string bash_value(Kind kind, const std::string& path, const CompletionWords& words) {
  if (kind == Kind::kNothing) return "return";
  if (kind == Kind::kFolder)
    return "COMPREPLY=($(compgen -d -- \"$current\")); compopt -o filenames 2> /dev/null; return";
  if (kind == Kind::kFile)
    return "COMPREPLY=($(compgen -f -- \"$current\")); compopt -o filenames 2> /dev/null; return";
  const std::string open = kind == Kind::kKey ? "compopt -o nospace 2> /dev/null; " : "";
  return fmt::format("{}COMPREPLY=($(compgen -W {} -- \"$current\")); return", open,
                     joined(words_of(kind, path, words)));
}

// What one entry of zsh's _describe looks like.
std::string described(std::string name, const std::string& summary) {
  std::string safe;
  for (const char c : name) safe += c == ':' ? std::string("\\:") : std::string(1, c);
  return quoted(safe + ":" + summary);
}

constexpr std::string_view kBash =
    R"sh(# Completion of @program@ for bash, made by `@program@ completion bash`; for this shell:
# eval "$(@program@ completion bash)"
_@program@() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
  local at=@program@ options= words= files=0 i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$at ${COMP_WORDS[i]}" in
      @paths@) at="$at ${COMP_WORDS[i]}" ;;
    esac
  done
  COMPREPLY=()
  case "$at:$previous" in
@values@  esac
  case "$at" in
@commands@  esac
  if [[ $current == -* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$current"))
    return
  fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  if ((files)); then
    COMPREPLY+=($(compgen -f -- "$current"))
    compopt -o filenames 2> /dev/null
  fi
  return 0
}
complete -F _@program@ @program@
)sh";

constexpr std::string_view kZsh =
    R"sh(#compdef @program@
# Completion of @program@ for zsh, made by `@program@ completion zsh`. Put it as _@program@ into a folder of $fpath.
_@program@() {
  local at=@program@ i files=0
  local -a options commands known
  for ((i = 2; i < CURRENT; i++)); do
    case "$at ${words[i]}" in
      (@paths@) at="$at ${words[i]}" ;;
    esac
  done
  case "$at:${words[CURRENT-1]}" in
@values@  esac
  case "$at" in
@commands@  esac
  if [[ ${words[CURRENT]} == -* ]]; then
    _describe -o option options
    return
  fi
  (( ${#commands} )) && _describe command commands
  (( ${#known} )) && compadd -- $known
  (( files )) && _files
  return 0
}
if [[ ${funcstack[1]} == _@program@ ]]; then
  _@program@ "$@"
else
  compdef _@program@ @program@
fi
)sh";

// The script with its parts in place.
std::string filled(std::string_view script, const CommandText& program,
                   std::vector<std::pair<std::string_view, std::string>> parts) {
  parts.emplace_back("@paths@", all_paths(program));
  parts.emplace_back("@program@", program.name);
  std::string text(script);
  for (const auto& [mark, content] : parts) {
    for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + content.size())) {
      text.replace(at, mark.size(), content);
    }
  }
  return text;
}

}  // namespace

Result<CompletionWords> completion_words() {
  CompletionWords words;
  MUSTER_ASSIGN(const std::vector<CatalogueStage> stages, catalogue());
  for (const CatalogueStage& stage : stages) {
    words.stages.push_back(stage.name);
    if (stage.name != "recipes" && stage.name != "tasks") continue;
    std::vector<std::string>& names = stage.name == "tasks" ? words.tasks : words.recipes;
    for (const CatalogueEntry& entry : stage.entries) names.push_back(entry.name);
  }
  for (const GrouperEntry& method : groupers()) words.methods.push_back(method.name);
  words.methods.emplace_back("all");
  for (const SourceState& source : source_states()) words.sources.push_back(source.name);
  words.keys.emplace_back(kParticipation);
  for (const RecipeKey& key : recipe_keys()) {
    words.keys.push_back(key.section.empty() ? key.key : key.section + "." + key.key);
  }
  return words;
}

std::string bash_completion(const CommandText& program, const CompletionWords& words) {
  std::string options;
  std::string values;
  walk(program, program.name, [&](const CommandText& command, const std::string& path) {
    std::vector<std::string> named{"--help"};
    std::vector<std::string> plain = names_of(command.commands);
    bool files = false;
    for (const OptionText& option : command.options) {
      const Kind kind = kind_of(option);
      if (option.positional) {
        const std::vector<std::string> known = words_of(kind, path, words);
        plain.insert(plain.end(), known.begin(), known.end());
        files = files || takes_files(kind) || kind == Kind::kFolder;
        continue;
      }
      named.push_back(option.name);
      if (!option.value.empty()) {
        values += fmt::format("    {}) {} ;;\n", quoted(path + ":" + option.name), bash_value(kind, path, words));
      }
    }
    options += fmt::format("    {}) options={}; words={}; files={} ;;\n", quoted(path), joined(named), joined(plain),
                           files ? 1 : 0);
  });
  return filled(kBash, program, {{"@values@", values}, {"@commands@", options}});
}

std::string zsh_completion(const CommandText& program, const CompletionWords& words) {
  std::string options;
  std::string values;
  walk(program, program.name, [&](const CommandText& command, const std::string& path) {
    std::vector<std::string> named{described("--help", "Show what is accepted")};
    std::vector<std::string> plain;
    std::vector<std::string> known;
    bool files = false;
    for (const CommandText& below : command.commands) plain.push_back(described(below.name, below.summary));
    for (const OptionText& option : command.options) {
      const Kind kind = kind_of(option);
      if (option.positional) {
        known = words_of(kind, path, words);
        files = files || takes_files(kind) || kind == Kind::kFolder;
        continue;
      }
      named.push_back(described(option.name, option.help));
      if (option.value.empty()) continue;
      const std::string action = kind == Kind::kNothing  ? "return"
                                 : kind == Kind::kFolder ? "_files -/; return"
                                 : kind == Kind::kFile   ? "_files; return"
                                                         : fmt::format("compadd -S '' -- {}; return",
                                                                       fmt::join(words_of(kind, path, words), " "));
      values += fmt::format("    ({}) {} ;;\n", quoted(path + ":" + option.name), action);
    }
    options +=
        fmt::format("    ({})\n      options=({})\n      commands=({})\n      known=({})\n      files={} ;;\n",
                    quoted(path), fmt::join(named, " "), fmt::join(plain, " "), fmt::join(known, " "), files ? 1 : 0);
  });
  return filled(kZsh, program, {{"@values@", values}, {"@commands@", options}});
}

}  // namespace muster
