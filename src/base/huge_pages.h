// Memory of many megabytes that will be read here and there: in huge pages, where the kernel gives them on request, so
// that finding the page costs less than reading what is there, and fewer pages have to be cleared.
#pragma once

#include <cstddef>
#include <vector>

namespace muster {

// A request that may have no effect. Does nothing for less than a few megabytes; must come before the memory is used.
void ask_for_huge_pages(void* memory, std::size_t bytes);

// values.reserve(count) with such memory.
template <typename T>
void reserve_huge(std::vector<T>& values, std::size_t count) {
  if (count <= values.capacity()) return;
  std::vector<T> grown;
  grown.reserve(count);
  ask_for_huge_pages(grown.data(), grown.capacity() * sizeof(T));
  grown.assign(values.begin(), values.end());
  values = std::move(grown);
}

}  // namespace muster
