// The first byte chooses the table, the rest is the file. What is accepted is grouped, so that no table gets past the
// readers that a method cannot take.
#include <numeric>

#include "grouping/client_table.h"
#include "grouping/grouping.h"

using namespace muster;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::span<const std::uint8_t> bytes(data + 1, size - 1);
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  switch (data[0] - '0') {
    case 0:
      if (const auto labels = parse_label_counts(text); labels && labels->count() <= 64) {
        std::vector<std::uint32_t> samples;
        for (std::uint32_t k = 0; k < labels->count(); ++k) {
          const auto row = labels->row(k);
          samples.push_back(std::accumulate(row.begin(), row.end(), 0u));
        }
        for (const GrouperEntry& entry : groupers()) {
          GroupingOptions options{.method = entry.name};
          for (const std::string& key : entry.keys) {
            if (key == "groups") options.groups = 2;
            if (key == "size") options.size = 2;
          }
          (void)form_groups(options, {.samples = samples, .labels = *labels}, {});
        }
      }
      break;
    case 1:
      (void)parse_vectors(text);
      break;
    case 2:
      (void)parse_vectors_npy(bytes);
      break;
    case 3:
      (void)parse_sizes(text);
      break;
    default:
      (void)parse_names(text, 3);
      break;
  }
  return 0;
}
