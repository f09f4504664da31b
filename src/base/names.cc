#include "base/names.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

namespace muster {
namespace {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row.back();
}

std::string in_lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return lower;
}

}  // namespace

std::string nearest_name(std::string_view typed, std::span<const std::string> candidates) {
  std::string best;
  const std::string lower = in_lower_case(typed);
  // In a short name a few edits reach any other, so nothing would be a typo.
  std::size_t best_distance = typed.size() < 3 ? typed.size() : std::max<std::size_t>(2, typed.size() / 3) + 1;
  std::size_t best_exact = 0;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(lower, in_lower_case(candidate));
    const std::size_t exact = edit_distance(typed, candidate);
    if (distance < best_distance || (distance == best_distance && !best.empty() && exact < best_exact)) {
      best_distance = distance;
      best_exact = exact;
      best = candidate;
    }
  }
  return best;
}

std::string counted(std::uint64_t count, std::string_view thing) {
  return fmt::format("{} {}{}", count, thing, count == 1 ? "" : "s");
}

std::string unknown_name(std::string_view kind, std::string_view typed, std::span<const std::string> accepted) {
  const std::string near = nearest_name(typed, accepted);
  const std::string hint = near.empty() ? "" : fmt::format(" (did you mean '{}'?)", near);
  return fmt::format("unknown {} '{}'{}; accepted: {}", kind, typed, hint, fmt::join(accepted, ", "));
}

}  // namespace muster
