// Groups as a picture: a bar per group, stacked by class, as tall as the group has samples. One panel per grouping.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"
#include "base/rows.h"

namespace muster {

struct GroupPanel {
  std::string title;
  Rows<std::uint64_t> counts;  // label counts, a row per group
};

// Of more groups than a panel has room for, evenly chosen ones are drawn; the SVG says so. The PNG has numbers on its
// axes but no words.
[[nodiscard]] std::string draw_groups_svg(std::span<const GroupPanel> panels);
[[nodiscard]] Result<std::string> draw_groups_png(std::span<const GroupPanel> panels);

}  // namespace muster
