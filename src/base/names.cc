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

}  // namespace

std::string nearest_name(std::string_view typed, std::span<const std::string> candidates) {
  std::string best;
  // In a name of one or two letters two edits reach any other, so nothing would be a typo.
  std::size_t best_distance = (typed.size() < 3 ? 1 : std::max<std::size_t>(2, typed.size() / 3)) + 1;
  for (const std::string& candidate : candidates) {
    if (const auto distance = edit_distance(typed, candidate); distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string unknown_name(std::string_view kind, std::string_view typed, std::span<const std::string> accepted) {
  const std::string near = nearest_name(typed, accepted);
  const std::string hint = near.empty() ? "" : fmt::format(" (did you mean '{}'?)", near);
  return fmt::format("unknown {} '{}'{}; accepted: {}", kind, typed, hint, fmt::join(accepted, ", "));
}

}  // namespace muster
