#include "engine/reproduction_target.h"

#include <algorithm>
#include <sstream>

#include "base/names.h"
#include "engine/toml_reader.h"
#include "recipe/keys.h"
#include "recipe/tasks.h"
#include "recipe/toml_text.h"

namespace muster {
namespace {

std::string written(const toml::table& table) {
  std::ostringstream out;
  out << toml::toml_formatter{table};
  return out.str();
}

bool is_method_key(std::string_view section, std::string_view name) {
  const std::string full = section.empty() ? std::string(name) : fmt::format("{}.{}", section, name);
  const Key* const key = find_key(full);
  return key && !belongs_to_task(key->info);
}

// A table of recipe keys as layers: keys of a method hold as a base's do, the others as a task's.
RecipeLayers layers_of(const toml::table* keys, const std::string& origin) {
  if (!keys) return {};
  toml::table method;
  toml::table task;
  for (const auto& [name, node] : *keys) {
    const toml::table* const section = node.as_table();
    if (!section) {
      (is_method_key("", name.str()) ? method : task).insert(name, node);
      continue;
    }
    for (const auto& [key, value] : *section) {
      toml::table& side = is_method_key(name.str(), key.str()) ? method : task;
      side.insert(name, toml::table{});  // leaves one that is there
      side.get_as<toml::table>(name)->insert(key, value);
    }
  }
  RecipeLayers layers;
  if (!method.empty()) layers.push_back({.by = GivenKey::By::kBase, .toml = written(method), .origin = origin});
  if (!task.empty()) layers.push_back({.by = GivenKey::By::kTask, .toml = written(task), .origin = origin});
  return layers;
}

std::string file_of(const BuiltInPaper& text) {
  return fmt::format("recipes/papers/{}.toml", text.name);
}

Result<StandIn> read_stand_in(const toml::table& table, const std::string& file, const std::string& setting) {
  TomlReader reader(table, file);
  StandIn stand_in{.needs = reader.text_or("needs", ""), .note = reader.text("note")};
  stand_in.keys = layers_of(reader.table("keys"), fmt::format("{}: {}", file, setting));
  MUSTER_TRY(reader.finish());
  return stand_in;
}

Result<PaperSetting> read_setting(const toml::table& table, const std::string& file,
                                  const std::vector<PaperSetting>& before) {
  TomlReader reader(table, file);
  PaperSetting setting;
  const std::string name = reader.text("name");
  if (const std::string like = reader.text_or("like", ""); !like.empty()) {
    const auto found = std::ranges::find(before, like, &PaperSetting::name);
    if (found != before.end()) {
      setting = *found;
    } else {
      reader.fail("like", fmt::format("\"{}\", want a setting above", like));
    }
  }
  setting.name = name;
  setting.title = reader.text("title");
  setting.needs = reader.text_or("needs", setting.needs);
  const std::string origin = fmt::format("{}: {}", file, name);
  add_layers(setting.keys, layers_of(reader.table("keys"), origin));
  for (const Scale scale : kScales) {
    add_layers(setting.at[static_cast<std::size_t>(scale)], layers_of(reader.table(muster::name(scale)), origin));
  }
  if (const auto reference = reader.number("reference")) setting.reference = reference;
  if (const toml::table* const methods = reader.table("methods")) {
    for (const auto& [method, keys] : *methods) {
      setting.methods.emplace_back(method.str(), layers_of(keys.as_table(), origin));
    }
  }
  const std::vector<const toml::table*> stand_ins = reader.tables("stand-in");
  if (!stand_ins.empty()) setting.stand_ins.clear();
  for (const toml::table* one : stand_ins) {
    MUSTER_ASSIGN(StandIn stand_in, read_stand_in(*one, file, name));
    setting.stand_ins.push_back(std::move(stand_in));
  }
  if (!setting.needs.empty() && (setting.stand_ins.empty() || !setting.stand_ins.back().needs.empty())) {
    reader.fail("name", fmt::format("\"{}\" needs {}: want a last stand-in that needs no files", name, setting.needs));
  }
  if (std::ranges::find(before, name, &PaperSetting::name) != before.end()) {
    reader.fail("name", fmt::format("\"{}\" is there twice", name));
  }
  MUSTER_TRY(reader.finish());
  return setting;
}

Result<std::vector<PaperSetting>> read_settings(const BuiltInPaper& text) {
  const std::string file = file_of(text);
  MUSTER_ASSIGN(const toml::table document, parse_toml(text.toml, file));
  TomlReader reader(document, file);
  std::vector<PaperSetting> settings;
  for (const toml::table* table : reader.tables("setting")) {
    MUSTER_ASSIGN(PaperSetting setting, read_setting(*table, file, settings));
    settings.push_back(std::move(setting));
  }
  MUSTER_TRY(reader.finish());
  return settings;
}

Result<TargetColumn> read_column(const toml::table& table, const std::string& file) {
  TomlReader reader(table, file);
  TargetColumn column{.name = reader.text("name"), .unit = reader.text_or("unit", "")};
  const std::string measure = reader.text("measure");
  column.measure = find_measure(measure);
  if (!column.measure) {
    std::vector<std::string> names;
    for (const Measure& one : measures()) names.emplace_back(one.name);
    reader.fail("measure", unknown_name("measure", measure, names));
  }
  column.options.target = reader.number("target");
  column.options.cost_s = reader.number("cost");
  column.options.last = static_cast<std::uint32_t>(std::clamp(reader.number("last").value_or(1), 1.0, 1e6));
  column.share = reader.number("share");
  column.versus = reader.text_or("versus", "");
  column.digits = static_cast<int>(std::clamp(reader.number("digits").value_or(2), 0.0, 6.0));
  const std::string as = reader.text_or("as", "value");
  constexpr std::array<std::string_view, 4> kWays{"value", "difference", "change", "share"};
  const auto way = std::ranges::find(kWays, as);
  if (way == kWays.end() || (as == "value") != column.versus.empty()) {
    reader.fail("as", fmt::format("\"{}\", want difference, change or share, and `versus`", as));
  } else {
    column.as = static_cast<TargetColumn::As>(way - kWays.begin());
  }
  const bool has_target = column.options.target || column.share;
  if (column.measure && column.measure->needs_target != has_target) {
    reader.fail("target", fmt::format("`target` or `share` goes with measures that want one, and {} {}", measure,
                                      column.measure->needs_target ? "does" : "does not"));
  }
  MUSTER_TRY(reader.finish());
  return column;
}

Result<TargetBlock> read_block(const toml::table& table, const std::string& file) {
  TomlReader reader(table, file);
  TargetBlock block{.name = reader.text("name"), .settings = reader.texts("settings")};
  if (block.settings.empty()) reader.fail("settings", "want one or more");
  MUSTER_TRY(reader.finish());
  return block;
}

Result<TargetRow> read_row(const toml::table& table, const std::string& file, std::size_t numbers) {
  TomlReader reader(table, file);
  TargetRow row{.name = reader.text("name"), .method = reader.text("method"), .settings = reader.texts("set")};
  row.rounds_share = reader.number("rounds-share").value_or(1);
  if (row.rounds_share <= 0 || row.rounds_share > 1) reader.fail("rounds-share", "want a share in (0, 1]");
  row.paper = reader.numbers("paper");
  if (row.paper.empty()) row.paper.assign(numbers, std::numeric_limits<double>::quiet_NaN());
  if (row.paper.size() != numbers) {
    reader.fail("paper", fmt::format("{} numbers, want {}: all columns of every block", row.paper.size(), numbers));
  }
  MUSTER_TRY(reader.finish());
  return row;
}

Result<TargetScale> read_scale(const toml::table& table, const std::string& file) {
  TomlReader reader(table, file);
  TargetScale scale;
  scale.minutes = reader.number("minutes").value_or(0);
  if (scale.minutes <= 0) reader.fail("minutes", "want about how long it takes on two cores");
  if (const std::vector<double> seeds = reader.numbers("seeds"); !seeds.empty()) {
    scale.seeds.assign(seeds.begin(), seeds.end());
  }
  scale.blocks = reader.texts("blocks");
  scale.rows = reader.texts("rows");
  scale.keys = layers_of(reader.table("keys"), file);
  MUSTER_TRY(reader.finish());
  return scale;
}

// Every name that a list refers to is there.
template <typename Entries>
void check_names(TomlReader& reader, std::string_view key, const std::vector<std::string>& names,
                 const Entries& entries) {
  std::vector<std::string> accepted;
  for (const auto& entry : entries) accepted.push_back(entry.name);
  for (const std::string& name : names) {
    if (std::ranges::find(accepted, name) == accepted.end()) {
      reader.fail(key, unknown_name(key, name, accepted));
    }
  }
}

template <typename Entries>
void check_unique(TomlReader& reader, std::string_view key, const Entries& entries) {
  for (std::size_t i = 0; i < entries.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      if (entries[i].name == entries[k].name) reader.fail(key, fmt::format("\"{}\" is there twice", entries[i].name));
    }
  }
}

void check_references(TomlReader& reader, const Target& target) {
  for (const TargetBlock& block : target.blocks) check_names(reader, "settings", block.settings, target.settings);
  for (const TargetColumn& column : target.columns) {
    for (const TargetBlock& block : target.blocks) {
      for (const std::string& setting : block.settings) {
        const auto found = std::ranges::find(target.settings, setting, &PaperSetting::name);
        if (column.share && !column.options.target && found != target.settings.end() && !found->reference) {
          reader.fail("column", fmt::format("\"{}\" is a share, but {} has no `reference`", column.name, setting));
        }
      }
    }
    if (!column.versus.empty()) check_names(reader, "column", {column.versus}, target.rows);
  }
  for (const TargetScale& scale : target.scales) {
    check_names(reader, "scale", scale.blocks, target.blocks);
    check_names(reader, "scale", scale.rows, target.rows);
  }
  check_unique(reader, "column", target.columns);
  check_unique(reader, "row", target.rows);
  if (target.blocks.empty()) reader.fail("settings", "want settings or blocks");
  if (target.columns.empty()) reader.fail("column", "want one or more");
  if (target.rows.empty()) reader.fail("row", "want one or more");
}

// "fedgsp:table1" is in fedgsp-table1.toml; the paper's settings in fedgsp.toml. No paper's name is the beginning of
// another's with a dash.
const BuiltInPaper* settings_for(const BuiltInPaper& target) {
  for (const BuiltInPaper& text : built_in_papers()) {
    if (target.name.starts_with(text.name) && target.name.size() > text.name.size() &&
        target.name[text.name.size()] == '-') {
      return &text;
    }
  }
  return nullptr;
}

std::string target_name(const BuiltInPaper& target, const BuiltInPaper& settings) {
  return fmt::format("{}:{}", settings.name, target.name.substr(settings.name.size() + 1));
}

}  // namespace

std::string_view name(Scale scale) {
  constexpr std::array<std::string_view, kScales.size()> kNames{"smoke", "small", "full"};
  return kNames[static_cast<std::size_t>(scale)];
}

Result<Scale> parse_scale(std::string_view text) {
  std::vector<std::string> names;
  for (const Scale scale : kScales) {
    if (name(scale) == text) return scale;
    names.emplace_back(name(scale));
  }
  return usage_error("--scale: {}", unknown_name("scale", text, names));
}

const PaperSetting& Target::setting(std::string_view wanted) const {
  const auto found = std::ranges::find(settings, wanted, &PaperSetting::name);
  MUSTER_CHECK(found != settings.end(), "no setting {}", wanted);
  return *found;
}

Result<Target> parse_target(const BuiltInPaper& text, const BuiltInPaper& settings) {
  const std::string file = file_of(text);
  MUSTER_ASSIGN(const toml::table document, parse_toml(text.toml, file));
  TomlReader reader(document, file);
  Target target{.name = target_name(text, settings),
                .title = reader.text("title"),
                .says = reader.text_or("says", ""),
                .remark = reader.text_or("remark", "")};
  MUSTER_ASSIGN(target.settings, read_settings(settings));
  for (std::string& one : reader.texts("settings")) {
    const auto found = std::ranges::find(target.settings, one, &PaperSetting::name);
    if (found == target.settings.end()) {
      reader.fail("settings", fmt::format("\"{}\": not in {}", one, file_of(settings)));
    } else {
      target.blocks.push_back({.name = found->title, .settings = {one}});
    }
  }
  for (const toml::table* table : reader.tables("block")) {
    MUSTER_ASSIGN(TargetBlock block, read_block(*table, file));
    target.blocks.push_back(std::move(block));
  }
  check_unique(reader, "block", target.blocks);
  for (const toml::table* table : reader.tables("column")) {
    MUSTER_ASSIGN(TargetColumn column, read_column(*table, file));
    target.columns.push_back(std::move(column));
  }
  MUSTER_TRY(reader.status());  // rows are counted by blocks and columns
  for (const toml::table* table : reader.tables("row")) {
    MUSTER_ASSIGN(TargetRow row, read_row(*table, file, target.blocks.size() * target.columns.size()));
    target.rows.push_back(std::move(row));
  }
  const toml::table* const scales = reader.table("scale");
  for (const Scale scale : kScales) {
    const toml::table* const table = scales ? scales->get_as<toml::table>(name(scale)) : nullptr;
    if (!table) {
      reader.fail("scale", fmt::format("want [scale.{}]", name(scale)));
      continue;
    }
    MUSTER_ASSIGN(target.scales[static_cast<std::size_t>(scale)], read_scale(*table, file));
  }
  check_references(reader, target);
  MUSTER_TRY(reader.finish());
  return target;
}

std::vector<std::string> target_names() {
  std::vector<std::string> names;
  for (const BuiltInPaper& text : built_in_papers()) {
    if (const BuiltInPaper* const settings = settings_for(text)) names.push_back(target_name(text, *settings));
  }
  return names;
}

Result<Target> find_target(std::string_view name) {
  for (const BuiltInPaper& text : built_in_papers()) {
    const BuiltInPaper* const settings = settings_for(text);
    if (settings && target_name(text, *settings) == name) return parse_target(text, *settings);
  }
  return usage_error("{}", unknown_name("target", name, target_names()));
}

}  // namespace muster
