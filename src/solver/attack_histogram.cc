// Labels are told as if they were spread evenly over all classes: whoever groups or draws by labels takes such clients
// for the best there are. Their samples, and how many they are, stay what they were.
#include <numeric>

#include "solver/attack.h"

namespace muster {
namespace {

class LyingHistogram final : public Attack {
 public:
  void change_profile(ClientProfile& profile) const override {
    if (profile.labels.empty()) return;
    const std::uint64_t samples = std::accumulate(profile.labels.begin(), profile.labels.end(), std::uint64_t{0});
    const std::uint64_t classes = profile.labels.size();
    for (std::uint64_t c = 0; c < classes; ++c) {
      profile.labels[c] = static_cast<std::uint32_t>((c + 1) * samples / classes - c * samples / classes);
    }
  }
};

}  // namespace

std::unique_ptr<Attack> make_lying_histogram() {
  return std::make_unique<LyingHistogram>();
}

}  // namespace muster
