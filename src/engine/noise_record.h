// NoiseRecord: the key of a private run's noise, and which noisy sums have left the server, in the run's folder. The
// key is the server's secret: noise from the recipe's seed hides nothing from whoever has the recipe. What left is on
// disk before it leaves, so that a run that was killed and makes a round again knows whether that shows more.
#pragma once

#include <filesystem>
#include <map>
#include <memory>

#include "aggregate/secret_noise.h"
#include "base/file.h"

namespace muster {

inline constexpr char kNoiseKeyFile[] = "noise.key";

// The key in the folder's kNoiseKeyFile. Where there is none yet: that of `given`, a key file to repeat another run
// with, or with `draw` one from the system, which is kept there; else null. Fails if others than the owner can read it.
[[nodiscard]] Result<std::shared_ptr<const NoiseKey>> keep_noise_key(const std::filesystem::path& folder,
                                                                     const std::filesystem::path& given, bool draw);

class NoiseRecord {
 public:
  // As keep_noise_key(). Null: noise comes from the recipe's seed.
  [[nodiscard]] static Result<std::unique_ptr<NoiseRecord>> open(const std::filesystem::path& folder,
                                                                 const std::filesystem::path& given, bool draw);

  [[nodiscard]] const std::shared_ptr<const NoiseKey>& key() const { return key_; }
  // A sum is about to leave. If it cannot be put down, says so in failed().
  void leaves(std::uint32_t merge, std::uint64_t release);
  // Sums that left besides the one that is left of each merge, since this was last asked.
  [[nodiscard]] std::uint32_t take_repeated() { return std::exchange(repeated_, 0); }
  [[nodiscard]] const Status& failed() const { return failed_; }

 private:
  NoiseRecord(std::shared_ptr<const NoiseKey> key, FileAppender file) : key_(std::move(key)), file_(std::move(file)) {}

  std::shared_ptr<const NoiseKey> key_;
  FileAppender file_;
  std::map<std::uint32_t, std::uint64_t> left_;  // the last of each merge
  std::uint32_t repeated_ = 0;
  Status failed_;
};

}  // namespace muster
