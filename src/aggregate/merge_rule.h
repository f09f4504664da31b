// MergeRule: how models that began as one become one again when some of them may be wrong on purpose. A rule sees them
// all at once and may leave some out; every model it takes counts once, whatever sample count its sender claims. Rules
// serve the members of a group (aggregation.in-group) as well as groups (aggregation.global).
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "aggregate/merge_report.h"
#include "base/random.h"
#include "base/rows.h"

namespace muster {

struct AggregationOptions;

struct MergeInput {
  std::span<const float> start;  // the trained parameters that all began with
  RowsView<float> models;        // those of each, finite, at least one row
  StreamKey noise = {};          // names the stream of a rule that adds noise
};

// Thread-safe. The result depends on the input alone.
class MergeRule {
 public:
  virtual ~MergeRule() = default;
  // Writes one value per parameter. Places in the report are rows.
  [[nodiscard]] virtual MergeReport merge(const MergeInput& input, std::span<float> merged) const = 0;
};

struct MergeRuleEntry {
  std::string name;
  std::string summary;
  std::vector<std::string> keys;  // of [aggregation], that mean something for this rule
  std::function<std::unique_ptr<MergeRule>(const AggregationOptions&)> make;
};
// The catalogue, in the order of the documentation.
[[nodiscard]] const std::vector<MergeRuleEntry>& merge_rules();
// Null for a name that is none of a rule's.
[[nodiscard]] const MergeRuleEntry* find_merge_rule(std::string_view name);

// Models that wait for the last of them: trained parameters, and running statistics, which are averaged over those that
// the rule takes. Memory: one model each.
class HeldModels {
 public:
  // `parameters`: how many of the flat vector's values are trained.
  void begin(std::size_t parameters);
  void add(std::span<const float> model);
  [[nodiscard]] std::uint32_t count() const { return count_; }
  // Writes the next model, of which `start` is what all began with, and lets go of them. Precondition: count() > 0.
  [[nodiscard]] MergeReport merge(const MergeRule& rule, std::span<const float> start, const StreamKey& noise,
                                  std::span<float> merged);

 private:
  std::size_t parameters_ = 0;
  std::uint32_t count_ = 0;
  Rows<float> trained_;
  Rows<float> statistics_;
};

// What rules have in common: the length of each model's change, the median of some numbers (the mean of the middle two
// of an even count), and the mean of changes, each times its factor, added to `start`; a factor of 0 leaves one out.
[[nodiscard]] std::vector<double> change_lengths(const MergeInput& input);
[[nodiscard]] double median_of(std::vector<double> numbers);
void add_mean_change(const MergeInput& input, std::span<const double> factors, std::span<float> merged);

// One factory per file.
std::unique_ptr<MergeRule> make_median();
std::unique_ptr<MergeRule> make_trimmed_mean(const AggregationOptions& options);
std::unique_ptr<MergeRule> make_krum(const AggregationOptions& options);
std::unique_ptr<MergeRule> make_multi_krum(const AggregationOptions& options);
std::unique_ptr<MergeRule> make_norm_clip(const AggregationOptions& options);
std::unique_ptr<MergeRule> make_majority_cluster(const AggregationOptions& options);

}  // namespace muster
