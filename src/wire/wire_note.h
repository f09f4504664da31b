// WireNote: something worth a line in a log, and whom it is about, for logs that have fields.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

namespace muster {

struct WireNote {
  std::string line;
  std::string peer = {};  // the other process: as its certificate calls it, or its address; "": the line is about none
  std::string client = {};  // where it is about one: its name, or its number; "": about none, or several
  std::size_t clients = 0;  // how many it is about
};

using SayNote = std::function<void(const WireNote& note)>;

}  // namespace muster
