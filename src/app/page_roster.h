// The roster of the cloud that this process is, for the live page.
#pragma once

#include "deploy/roster_board.h"
#include "web/roster.h"

namespace muster {

// `board` outlives the page.
[[nodiscard]] inline RosterSource roster_of(const RosterBoard& board) {
  return [&board](const std::string& run) -> std::optional<PageRoster> {
    const RosterView view = board.view();
    if (view.run != run) return std::nullopt;
    PageRoster roster{.roster = view.roster, .here = view.here};
    for (const RosterView::Client& client : view.clients) {
      const auto since = std::chrono::duration_cast<std::chrono::seconds>(client.since.time_since_epoch());
      roster.rows.push_back({.client = client.client.value,
                             .name = client.name,
                             .here = client.here,
                             .peer = client.peer,
                             .by_edge = client.by_edge,
                             .since_s = since.count(),
                             .why = client.why,
                             .drops = client.drops,
                             .last_drop_round = client.last_drop_round,
                             .last_drop_reason = client.last_drop_reason});
    }
    return roster;
  };
}

}  // namespace muster
