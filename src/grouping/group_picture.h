// Groups as a picture: a bar per group, stacked by class, as tall as the group has samples. One panel per grouping.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/rows.h"
#include "data/canvas.h"

namespace muster {

struct GroupPanel {
  std::string title;
  Rows<std::uint64_t> counts;  // label counts, a row per group
};

// Each panel with its title, a scale of samples, numbered groups; beside them which colour is which class. Of more
// groups than a panel has room for, evenly chosen ones are drawn, and its title says so. `class_names`: empty, or one
// per class. Both are borrowed.
[[nodiscard]] Drawing draw_groups(std::span<const GroupPanel> panels, std::span<const std::string> class_names = {});

// The colour of a class among so many: those of Okabe and Ito, which the colour-blind can tell apart; with more than
// eight classes also lighter and darker.
[[nodiscard]] Colour class_colour(std::size_t label, std::size_t classes);

}  // namespace muster
