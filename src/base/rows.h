// A table of numbers with a row per client or group: Rows owns it, RowsView borrows it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace muster {

template <typename T>
struct RowsView {
  std::span<const T> values;  // row after row
  std::size_t width = 0;      // numbers per row; 0 only if there are no rows

  [[nodiscard]] std::uint32_t count() const {
    return width == 0 ? 0 : static_cast<std::uint32_t>(values.size() / width);
  }
  [[nodiscard]] bool empty() const { return values.empty(); }
  [[nodiscard]] std::span<const T> row(std::uint32_t index) const { return values.subspan(index * width, width); }
};

template <typename T>
struct Rows {
  std::vector<T> values;
  std::size_t width = 0;

  Rows() = default;
  Rows(std::uint32_t count, std::size_t row_width) : values(count * row_width), width(row_width) {}

  [[nodiscard]] std::uint32_t count() const { return view().count(); }
  [[nodiscard]] std::span<T> row(std::uint32_t index) { return std::span(values).subspan(index * width, width); }
  [[nodiscard]] std::span<const T> row(std::uint32_t index) const { return view().row(index); }
  [[nodiscard]] RowsView<T> view() const { return {values, width}; }
  operator RowsView<T>() const { return view(); }  // NOLINT(google-explicit-constructor)
};

}  // namespace muster
