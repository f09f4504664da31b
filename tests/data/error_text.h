// What a reader says to a bad file.
#pragma once

#include <string>

namespace muster {

inline std::string error_of(const auto& result) {
  return result ? std::string("no error") : result.error().message;
}

}  // namespace muster
