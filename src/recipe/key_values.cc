#include "recipe/key_values.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/names.h"

namespace muster {
namespace {

Codec<std::string> text(std::string accepted, bool empty_too) {
  return {.accepted = accepted,
          .read = [accepted, empty_too](const toml::node& node) -> Result<std::string> {
            auto value = node.value_exact<std::string>();
            if (!value || (value->empty() && !empty_too)) return unaccepted(node, accepted);
            return *std::move(value);
          },
          .write = [](const std::string& value) { return value.empty() ? std::string() : toml_string(value); }};
}

// Groups beyond this number do not fit a machine, and the type does not hold them.
constexpr std::int64_t kMostGroups = 1'000'000'000;

std::optional<std::uint32_t> count_in(const toml::node& node) {
  const auto value = node.value_exact<std::int64_t>();
  if (!value || *value < 1 || *value > kMostGroups) return std::nullopt;
  return static_cast<std::uint32_t>(*value);
}

std::optional<double> number_in(const toml::node& node) {
  if (const auto value = node.value_exact<double>()) return value;
  if (const auto whole = node.value_exact<std::int64_t>()) return static_cast<double>(*whole);
  return std::nullopt;
}

Result<GroupSchedule> schedule_from(const toml::node& node, const std::string& accepted) {
  GroupSchedule schedule;
  const toml::table* const table = node.as_table();
  if (!table) {
    const auto groups = count_in(node);
    if (!groups) return unaccepted(node, accepted);
    schedule.beta = *groups;
    return schedule;
  }
  for (const auto& [key, value] : *table) {
    if (key.str() == "growth") {
      const auto growth = value.value_exact<std::string>();
      if (!growth) return unaccepted(value, "a string").within("growth");
      schedule.growth = shown_name(*growth);
    } else if (key.str() == "alpha") {
      const auto alpha = number_in(value);
      if (!alpha) return unaccepted(value, "a number >= 0").within("alpha");
      schedule.alpha = *alpha;
    } else if (key.str() == "beta") {
      const auto beta = count_in(value);
      if (!beta) return unaccepted(value, fmt::format("an integer from 1 to {}", kMostGroups)).within("beta");
      schedule.beta = *beta;
    } else {
      const std::vector<std::string> names{"growth", "alpha", "beta"};
      return Error{ErrorCode::kUsage, unknown_name("key", shown_name(key.str()), names)};
    }
  }
  MUSTER_TRY(check_schedule(schedule));
  return schedule;
}

}  // namespace

Error unaccepted(const toml::node& node, const std::string& accepted) {
  return usage_error("{}, want {}", shown_value(node), accepted);
}

Codec<std::string> any_text() {
  return text("a string", true);
}

Codec<std::string> some_text() {
  return text("a string that is not empty", false);
}

Codec<std::string> one_of(std::vector<std::string> words) {
  Codec<std::string> codec = text(fmt::format("{}", fmt::join(words, " | ")), true);
  codec.read = [words = std::move(words), accepted = codec.accepted](const toml::node& node) -> Result<std::string> {
    auto value = node.value_exact<std::string>();
    if (!value) return unaccepted(node, accepted);
    if (std::ranges::find(words, *value) != words.end()) return *std::move(value);
    return Error{ErrorCode::kUsage, unknown_name("value", shown_name(*value), words)};
  };
  return codec;
}

Codec<std::vector<std::string>> some_of(std::vector<std::string> words) {
  const std::string accepted = fmt::format("a list of {}", fmt::join(words, " | "));
  return {
      .accepted = accepted,
      .read = [accepted, one = one_of(std::move(words))](const toml::node& node) -> Result<std::vector<std::string>> {
        std::vector<std::string> chosen;
        const toml::array* const list = node.as_array();
        if (!list) {
          if (!node.is_string()) return unaccepted(node, accepted);
          MUSTER_ASSIGN(chosen.emplace_back(), one.read(node));
          return chosen;
        }
        for (const toml::node& item : *list) {
          MUSTER_ASSIGN(std::string word, one.read(item));
          if (std::ranges::find(chosen, word) != chosen.end()) {
            return usage_error("{}, which names \"{}\" twice", shown_value(node), word);
          }
          chosen.push_back(std::move(word));
        }
        return chosen;
      },
      .write =
          [](const std::vector<std::string>& chosen) {
            return chosen.empty() ? std::string() : fmt::format("[\"{}\"]", fmt::join(chosen, "\", \""));
          }};
}

Codec<bool> true_or_false() {
  return {.accepted = "true or false",
          .read = [](const toml::node& node) -> Result<bool> {
            const auto value = node.value_exact<bool>();
            if (!value) return unaccepted(node, "true or false");
            return *value;
          },
          .write = [](const bool& value) { return std::string(value ? "true" : "false"); }};
}

Codec<std::vector<std::uint32_t>> integers(std::uint32_t most, std::uint32_t high) {
  const std::string accepted = fmt::format("a list of at most {} integers from 1 to {}", most, high);
  return {.accepted = accepted,
          .read = [accepted, most, high](const toml::node& node) -> Result<std::vector<std::uint32_t>> {
            const toml::array* const list = node.as_array();
            if (!list || list->size() > most) return unaccepted(node, accepted);
            std::vector<std::uint32_t> values;
            for (const toml::node& item : *list) {
              const auto value = item.value_exact<std::int64_t>();
              if (!value || *value < 1 || *value > high) return unaccepted(node, accepted);
              values.push_back(static_cast<std::uint32_t>(*value));
            }
            return values;
          },
          .write =
              [](const std::vector<std::uint32_t>& values) {
                return values.empty() ? std::string() : fmt::format("[{}]", fmt::join(values, ", "));
              }};
}

Codec<std::vector<std::string>> texts() {
  const std::string accepted = "a list of texts, or one text";
  return {.accepted = accepted,
          .read = [accepted](const toml::node& node) -> Result<std::vector<std::string>> {
            if (const auto one = node.value_exact<std::string>(); one && !one->empty()) return std::vector{*one};
            const toml::array* const list = node.as_array();
            if (!list || list->size() > 100'000) return unaccepted(node, accepted);
            std::vector<std::string> values;
            for (const toml::node& item : *list) {
              const auto value = item.value_exact<std::string>();
              if (!value || value->empty()) return unaccepted(node, accepted);
              values.push_back(*value);
            }
            return values;
          },
          .write =
              [](const std::vector<std::string>& values) {
                std::string text;
                for (const std::string& value : values) text += (text.empty() ? "" : ", ") + toml_string(value);
                return values.empty() ? text : "[" + text + "]";
              }};
}

Codec<Amount> count_or_share() {
  const std::string accepted = "a count >= 1 (an integer) or a share in (0, 1] (with a decimal point)";
  return {.accepted = accepted,
          .read = [accepted](const toml::node& node) -> Result<Amount> {
            if (const auto count = node.value_exact<std::int64_t>()) {
              if (*count < 1 || *count > std::numeric_limits<std::uint32_t>::max()) return unaccepted(node, accepted);
              return Amount{static_cast<std::uint32_t>(*count)};
            }
            const auto share = node.value_exact<double>();
            if (!share || !(*share > 0 && *share <= 1)) return unaccepted(node, accepted);
            return Amount{*share};
          },
          .write =
              [](const Amount& amount) {
                if (const auto* count = std::get_if<std::uint32_t>(&amount.value)) return fmt::format("{}", *count);
                return toml_number(std::get<double>(amount.value));
              }};
}

Codec<std::variant<Amount, std::vector<std::uint32_t>>> clients_or_share() {
  using Clients = std::variant<Amount, std::vector<std::uint32_t>>;
  const Codec<Amount> amount = count_or_share();
  const std::string accepted = amount.accepted + ", or a list of clients";
  return {.accepted = accepted,
          .read = [accepted, amount](const toml::node& node) -> Result<Clients> {
            const toml::array* const list = node.as_array();
            if (!list) {
              const Result<Amount> read = amount.read(node);
              if (!read) return unaccepted(node, accepted);
              return Clients{*read};
            }
            std::vector<std::uint32_t> clients;
            for (const toml::node& item : *list) {
              const auto value = item.value_exact<std::int64_t>();
              const bool number = value && *value >= 0 && *value < std::numeric_limits<std::uint32_t>::max();
              if (!number) return unaccepted(node, accepted);
              clients.push_back(static_cast<std::uint32_t>(*value));
            }
            std::ranges::sort(clients);
            if (clients.empty() || std::ranges::adjacent_find(clients) != clients.end()) {
              return unaccepted(node, accepted);
            }
            return Clients{std::move(clients)};
          },
          .write =
              [amount](const Clients& clients) {
                const auto* const list = std::get_if<std::vector<std::uint32_t>>(&clients);
                return list ? fmt::format("[{}]", fmt::join(*list, ", ")) : amount.write(std::get<Amount>(clients));
              }};
}

Codec<GroupSchedule> group_schedule() {
  const std::string accepted = "an integer >= 1, or a table like { growth = \"log\", alpha = 2.0, beta = 10 }";
  return {.accepted = accepted,
          .read = [accepted](const toml::node& node) { return schedule_from(node, accepted); },
          .write =
              [](const GroupSchedule& schedule) {
                if (schedule == GroupSchedule{.beta = schedule.beta}) return fmt::format("{}", schedule.beta);
                return fmt::format("{{ growth = {}, alpha = {}, beta = {} }}", toml_string(schedule.growth),
                                   toml_number(schedule.alpha), schedule.beta);
              }};
}

Codec<double> number(NumberRange range) {
  std::string accepted = "a number";
  if (!std::isinf(range.low)) accepted += fmt::format(" {} {}", range.open_low ? ">" : ">=", range.low);
  if (!std::isinf(range.high)) {
    accepted += fmt::format("{} {} {}", std::isinf(range.low) ? "" : " and", range.open_high ? "<" : "<=", range.high);
  }
  return {.accepted = accepted,
          .read = [range, accepted](const toml::node& node) -> Result<double> {
            const auto value = number_in(node);
            const bool holds = value && (range.open_low ? *value > range.low : *value >= range.low) &&
                               (range.open_high ? *value < range.high : *value <= range.high);
            if (!holds) return unaccepted(node, accepted);
            return *value;
          },
          .write = [](const double& value) { return toml_number(value); }};
}

}  // namespace muster
