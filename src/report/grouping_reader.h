// GroupingReader: the lines of groups.jsonl, one after the other -> what each says, and what it changed. Only some are
// kept whole, so that a run that regroups ten thousand times takes no more memory than one that does it thirty times.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "report/run_records.h"

namespace muster {

class GroupingReader {
 public:
  // A line that does not say of which round it is, or of an earlier one than the line before, is not taken: false.
  bool add(const nlohmann::json& line);
  // All that was read. Nothing may be added after.
  void finish(RunRecords& records);

 private:
  using Members = std::vector<std::vector<std::uint32_t>>;
  void add_formed(const nlohmann::json& line, std::uint32_t round);
  void add_newcomers(const nlohmann::json& line);
  void add_distances(const nlohmann::json& distances, std::uint32_t round);
  void compare(const Members& members, DetailedGrouping& now) const;
  void keep(DetailedGrouping&& now);

  std::vector<RecordedGrouping> groupings_;
  std::vector<DetailedGrouping> kept_;
  std::optional<DetailedGrouping> last_;
  std::uint32_t keep_every_ = 1;
  std::vector<RecordedDistances> distances_;
  std::vector<std::uint32_t> group_of_;  // at present, by client
};

}  // namespace muster
