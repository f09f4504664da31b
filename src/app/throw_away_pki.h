// Certificates for a try on this machine, from an authority of their own that goes with its folder.
#pragma once

#include <filesystem>

#include "pki/authority.h"

namespace muster {

class ThrowAwayPki {
 public:
  // Fails if the folder exists and is not empty.
  [[nodiscard]] static Result<ThrowAwayPki> create(std::filesystem::path folder) {
    MUSTER_TRY(make_authority(folder, {}, utc_now()));
    return ThrowAwayPki(std::move(folder));
  }

  // The folder of a process that can prove itself.
  [[nodiscard]] Result<std::filesystem::path> issue(const IssueRequest& request) const {
    MUSTER_ASSIGN(Authority authority, Authority::open(folder_, utc_now()));
    MUSTER_ASSIGN(const IssuedBundle bundle, authority.issue(request, utc_now()));
    return bundle.folder;
  }

 private:
  explicit ThrowAwayPki(std::filesystem::path folder) : folder_(std::move(folder)) {}
  std::filesystem::path folder_;
};

}  // namespace muster
