#include "recipe/composition.h"

#include <algorithm>
#include <optional>

#include "base/file.h"
#include "base/names.h"
#include "recipe/tasks.h"
#include "recipe/toml_text.h"

namespace muster {
namespace {

// More than anybody nests, and few enough that a circle is told soon.
constexpr std::size_t kMostLayers = 16;

struct LayerKind {
  GivenKey::By by;
  const char* key;   // that names one
  const char* word;  // in errors
  std::vector<std::string> (*names)();
  std::optional<std::string_view> (*built_in)(std::string_view name);
};

template <typename Entries>
std::optional<std::string_view> text_of(const Entries& entries, std::string_view name) {
  const auto found = std::ranges::find_if(entries, [&](const auto& entry) { return entry.name == name; });
  if (found == entries.end()) return std::nullopt;
  return found->toml;
}
template <typename Entries>
std::vector<std::string> names_in(const Entries& entries) {
  std::vector<std::string> names;
  for (const auto& entry : entries) names.emplace_back(entry.name);
  return names;
}

const LayerKind kBases{.by = GivenKey::By::kBase,
                       .key = "base",
                       .word = "recipe",
                       .names = [] { return names_in(built_in_recipes()); },
                       .built_in = [](std::string_view name) { return text_of(built_in_recipes(), name); }};
const LayerKind kTasks{.by = GivenKey::By::kTask,
                       .key = "task",
                       .word = "task",
                       .names = [] { return names_in(built_in_tasks()); },
                       .built_in = [](std::string_view name) { return text_of(built_in_tasks(), name); }};

bool looks_like_path(const std::string& name) {
  std::error_code ignored;
  return name.find('/') != std::string::npos || name.ends_with(".toml") ||
         std::filesystem::is_regular_file(name, ignored);
}

// By its name, or its path: looked up beside whoever names it, then in the working folder.
Result<RecipeLayer> find_layer(const LayerKind& kind, const std::string& name, const std::filesystem::path& beside) {
  if (const auto text = kind.built_in(name)) {
    return RecipeLayer{.by = kind.by,
                       .toml = std::string(*text),
                       .origin = fmt::format("{} (built in)", name),
                       .folder = {},
                       .built_in = true};
  }
  if (!looks_like_path(name)) {
    return Error{ErrorCode::kUsage, unknown_name(kind.word, name, kind.names()) + ", or a path to a .toml file"};
  }
  if (name.ends_with(".csv") || name.ends_with(".csv.gz")) {
    return usage_error(
        "{0}: a table, not a {1}; to train on it: muster run fedavg --set data.source=csv --set data.path={0} --set "
        "data.label=COLUMN",
        shown_name(name), kind.word);
  }
  std::error_code ignored;
  const std::filesystem::path near = beside / name;
  const std::string path = std::filesystem::exists(near, ignored) ? near.string() : name;
  auto bytes = read_file(path, std::uint64_t{1} << 20);
  if (!bytes) return Error{ErrorCode::kUsage, bytes.error().message};
  return RecipeLayer{.by = kind.by,
                     .toml = std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size()),
                     .origin = path,
                     .folder = std::filesystem::path(path).parent_path(),
                     .built_in = false};
}

// What the text says by `key`; "" = nothing.
Result<std::string> named_by(const RecipeLayer& layer, const char* key) {
  MUSTER_ASSIGN(const toml::table document, parse_toml(layer.toml, layer.origin));
  const toml::node* const node = document.get(key);
  if (!node) return std::string();
  const auto name = node->value<std::string>();
  if (!name || name->empty()) {
    return usage_error("{}:{}: {}: {}, want a name or a path", layer.origin, node->source().begin.line, key,
                       shown_value(*node));
  }
  return *name;
}

// The layer and all it starts from, the root first.
Result<std::vector<RecipeLayer>> with_roots(const LayerKind& kind, RecipeLayer layer) {
  std::vector<RecipeLayer> chain{std::move(layer)};
  while (true) {
    MUSTER_ASSIGN(const std::string name, named_by(chain.back(), kind.key));
    if (name.empty()) break;
    if (chain.size() == kMostLayers) {
      return usage_error("{}: {} = \"{}\": more than {} start from each other; is it a circle?", chain.back().origin,
                         kind.key, shown_name(name), kMostLayers);
    }
    auto root = find_layer(kind, name, chain.back().folder);
    if (!root) return std::move(root).error().within(fmt::format("{}: {}", chain.back().origin, kind.key));
    chain.push_back(std::move(*root));
  }
  std::ranges::reverse(chain);
  return chain;
}

// Built-in recipes that are methods only, and have no data of their own.
bool needs_task(const RecipeLayer& root) {
  if (!root.built_in) return false;
  const auto found = std::ranges::find_if(
      built_in_recipes(), [&](const BuiltInRecipe& built_in) { return std::string_view(root.toml) == built_in.toml; });
  return found != built_in_recipes().end() && found->method;
}

// `chain`: the recipe and what it starts from, the root first; the last `own` of them is a text, not a base.
Result<Composition> with_task(std::vector<RecipeLayer> chain, std::string task) {
  std::filesystem::path beside;
  std::string named_in;
  if (task.empty()) {
    for (const RecipeLayer& layer : chain) {
      MUSTER_ASSIGN(const std::string named, named_by(layer, kTasks.key));
      if (named.empty()) continue;
      task = named;
      beside = layer.folder;
      named_in = layer.origin;
    }
  }
  if (task.empty() && needs_task(chain.front())) task = kDefaultTask;

  Composition composition;
  std::vector<RecipeLayer> tasks;
  if (!task.empty()) {
    auto layer = find_layer(kTasks, task, beside);
    if (!layer) {
      return std::move(layer).error().within(named_in.empty() ? "--task" : fmt::format("{}: task", named_in));
    }
    MUSTER_ASSIGN(tasks, with_roots(kTasks, std::move(*layer)));
    composition.task = std::filesystem::path(task).stem().string();
  }
  for (RecipeLayer& layer : chain) {
    if (layer.by == GivenKey::By::kBase) composition.layers.push_back(std::move(layer));
  }
  for (RecipeLayer& layer : tasks) composition.layers.push_back(std::move(layer));
  if (chain.back().by == GivenKey::By::kFile) composition.layers.push_back(std::move(chain.back()));
  return composition;
}

}  // namespace

bool names_a_layer(std::string_view key) {
  return key == kBases.key || key == kTasks.key;
}

std::vector<RecipeKey> composing_keys() {
  return {
      {.section = "",
       .key = "base",
       .summary = "the recipe to start from",
       .accepted = "a built-in recipe or a .toml file",
       .otherwise = "none",
       .applies = "a recipe's file"},
      {.section = "",
       .key = "task",
       .summary = "what it runs on: data, model, local work, rounds",
       .accepted = "a built-in task or a .toml file",
       .otherwise = fmt::format("\"{}\" where `base` is a built-in method, else none", kDefaultTask),
       .applies = "a recipe's file; `--task` takes its place"},
      {.section = "plan",
       .key = "participation",
       .summary = "share of the groups or clients that take part in a round, whichever are drawn",
       .accepted = "a share in (0, 1]",
       .otherwise = "plan.sample-groups or plan.sample-clients",
       .applies = "a plan.sampling that draws"},
  };
}

Result<Composition> compose(RecipeLayer text, const std::string& task) {
  MUSTER_ASSIGN(std::vector<RecipeLayer> chain, with_roots(kBases, std::move(text)));
  return with_task(std::move(chain), task);
}

Result<Composition> compose_named(const std::string& name_or_path, const std::string& task) {
  MUSTER_ASSIGN(RecipeLayer layer, find_layer(kBases, name_or_path, {}));
  if (!layer.built_in || !needs_task(layer)) layer.by = GivenKey::By::kFile;
  return compose(std::move(layer), task);
}

Result<Composition> compose_on(const std::string& name_or_path, std::span<const RecipeLayer> layers) {
  MUSTER_ASSIGN(RecipeLayer method, find_layer(kBases, name_or_path, {}));
  Composition composition;
  MUSTER_ASSIGN(composition.layers, with_roots(kBases, std::move(method)));
  for (const RecipeLayer& layer : layers) {
    if (layer.by == GivenKey::By::kBase) composition.layers.push_back(layer);
  }
  for (const RecipeLayer& layer : layers) {
    if (layer.by != GivenKey::By::kTask) continue;
    MUSTER_ASSIGN(std::vector<RecipeLayer> tasks, with_roots(kTasks, layer));
    std::ranges::move(tasks, std::back_inserter(composition.layers));
  }
  return composition;
}

}  // namespace muster
