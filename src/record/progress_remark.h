// What all progress of this process shows besides, e.g. how many clients of a deployment are here. As for the form of
// its log, the command that runs decides, once.
#pragma once

#include <functional>
#include <string>

namespace muster {

// From now on, "" for nothing; asked whenever something is shown, by the thread that shows it. Not thread-safe: while
// no run goes on.
void set_progress_remark(std::function<std::string()> remark);

}  // namespace muster
