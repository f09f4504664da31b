// TorchReference: the plain-PyTorch loop (bench/torch_reference.py, built into the binary) as a child process that
// waits between windows, so that its windows and ours can take turns.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "app/child_process.h"
#include "base/result.h"

namespace muster {

class TorchReference {
 public:
  // kTuned tells PyTorch and its BLAS which processor this is; kInstalled leaves them as they are.
  enum class Settings { kTuned, kInstalled };
  // Tries Debian's Python first, which has Debian's PyTorch. The error says how to get it.
  [[nodiscard]] static Result<TorchReference> start(Settings settings);

  [[nodiscard]] const std::string& version() const { return version_; }
  // What multiplies its matrices: "openblas", "mkl", ...; "reference" is the slow one; "unknown" if it cannot be told.
  [[nodiscard]] const std::string& blas() const { return blas_; }

  // The loss before each step of SGD on one batch, from weights in Muster's layout (npz files).
  [[nodiscard]] Result<std::vector<double>> losses(std::string_view workload, const std::filesystem::path& weights,
                                                   const std::filesystem::path& batch, std::uint32_t steps);
  // Makes the workload's clients; window() then trains them in the mode "std" or "foreach" for some processor time and
  // gives samples per second.
  [[nodiscard]] Status prepare(std::string_view workload);
  [[nodiscard]] Result<double> window(std::string_view mode, double seconds);

 private:
  TorchReference(ChildProcess child, std::string version, std::string blas)
      : child_(std::move(child)), version_(std::move(version)), blas_(std::move(blas)) {}

  ChildProcess child_;
  std::string version_;
  std::string blas_;
};

}  // namespace muster
