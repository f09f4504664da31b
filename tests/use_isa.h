// UseIsa: a test on one instruction set.
#pragma once

#include "base/isa.h"

namespace muster {

// Forces an instruction set for a test and puts the former one back.
class UseIsa {
 public:
  explicit UseIsa(Isa isa) : before_(current_isa()) { use_isa(isa); }
  ~UseIsa() { use_isa(before_); }
  UseIsa(const UseIsa&) = delete;
  UseIsa& operator=(const UseIsa&) = delete;

 private:
  Isa before_;
};

}  // namespace muster
