// How the rest of the program reaches kernels: a table of plain functions per instruction set. A header declares its
// table with MUSTER_DECLARE_KERNELS, the kernel file defines the table in namespace muster::MUSTER_ISA_SPACE, and
// dispatch.cc picks the one for current_isa().
#pragma once

// Declares `const Table& getter()` for each instruction set and the dispatching one in muster itself.
#if defined(__x86_64__)
#define MUSTER_DECLARE_KERNELS(Table, getter) \
  namespace muster::baseline {                \
  const Table& getter();                      \
  }                                           \
  namespace muster::avx2 {                    \
  const Table& getter();                      \
  }                                           \
  namespace muster::avx512 {                  \
  const Table& getter();                      \
  }                                           \
  namespace muster {                          \
  const Table& getter();                      \
  }
#else
#define MUSTER_DECLARE_KERNELS(Table, getter) \
  namespace muster::baseline {                \
  const Table& getter();                      \
  }                                           \
  namespace muster {                          \
  const Table& getter();                      \
  }
#endif
