// Tests that need Python ask here whether it can be had.
#pragma once

#include <cstdlib>
#include <string>

namespace muster {

// An interpreter that has these modules ("torch, numpy"); "" if there is none.
inline std::string python_with(const std::string& modules) {
  for (const std::string python : {"/usr/bin/python3", "python3"}) {
    if (std::system((python + " -c 'import " + modules + "' > /dev/null 2>&1").c_str()) == 0) return python;
  }
  return {};
}

}  // namespace muster
