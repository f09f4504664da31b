#include "model/kernels/dense_kernels.h"

#include "model/kernels/simd.h"

namespace muster::MUSTER_ISA_SPACE {
namespace {

#define MUSTER_INLINE static inline __attribute__((always_inline))

// Register tile: kTileRows x kTileVectors accumulators, one vector of weights per column and a broadcast fit.
constexpr int kTileVectors = 2;
constexpr int kTileRows = kRegisters == 32 ? 12 : 6;
constexpr std::size_t kTileWidth = kTileVectors * kLanes;
constexpr std::size_t kPanel = 32;

constexpr std::size_t smaller(std::size_t a, std::size_t b) {
  return a < b ? a : b;
}

// Rows [0, rows) cut into the fewest tiles, of nearly equal height: no tile is left with one lonely row.
struct RowTiles {
  std::size_t count;
  std::size_t height;
  std::size_t taller;  // this many have one row more
  explicit RowTiles(std::size_t rows) : count((rows + kTileRows - 1) / kTileRows) {
    height = rows / count;
    taller = rows % count;
  }
};

// c (+)= a b for one register tile: a(i, s) = a[i * a_row + s * a_step], b(s) = b[s * b_step + lane].
struct Product {
  std::size_t steps;
  const float* a;
  std::size_t a_row;
  std::size_t a_step;
  const float* b;
  std::size_t b_step;
  float* c;
  std::size_t c_row;
  const float* start;  // c begins as this line; null: as it is
  bool relu;
  const float* mask;  // layout of c; null: none
};

enum class Start { kLine, kZero, kKeep };

template <int kRows, int kVectors>
void multiply(const Product& p, float scale, Start start) {
  Vec sum[kRows][kVectors];
  const float* a = p.a;
  const float* b = p.b;
  if (start == Start::kLine) {
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) sum[r][v] = load(p.start + v * kLanes);
  } else {
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) sum[r][v] = Vec{};
  }
  if (start == Start::kKeep) {
    // What c holds is added last, so that it may come from afar meanwhile.
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r)
      for (int v = 0; v < kVectors * kLanes; v += 16) __builtin_prefetch(p.c + r * p.c_row + v, 1, 3);
  }
  for (std::size_t s = 0; s < p.steps; ++s) {
    Vec w[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) w[v] = load(b + v * kLanes);
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      const Vec x = splat(a[r * p.a_row]);
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) sum[r][v] += x * w[v];
    }
    a += p.a_step;
    b += p.b_step;
  }
  if (start == Start::kKeep) {
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) sum[r][v] = load(p.c + r * p.c_row + v * kLanes) + sum[r][v] * splat(scale);
  }
  if (p.relu) {
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 4
      // A NaN stays: it must reach the loss.
      for (int v = 0; v < kVectors; ++v) sum[r][v] = sum[r][v] < Vec{} ? Vec{} : sum[r][v];
  }
  if (p.mask) {
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v)
        sum[r][v] = load(p.mask + r * p.c_row + v * kLanes) > Vec{} ? sum[r][v] : Vec{};
  }
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) store(p.c + r * p.c_row + v * kLanes, sum[r][v]);
}

template <int kVectors>
void multiply_rows(std::size_t rows, const Product& p, float scale, Start start) {
  switch (rows) {
    case 1:
      return multiply<1, kVectors>(p, scale, start);
    case 2:
      return multiply<2, kVectors>(p, scale, start);
    case 3:
      return multiply<3, kVectors>(p, scale, start);
    case 4:
      return multiply<4, kVectors>(p, scale, start);
    case 5:
      return multiply<5, kVectors>(p, scale, start);
    case 6:
      return multiply<6, kVectors>(p, scale, start);
  }
  if constexpr (kTileRows == 12) {
    switch (rows) {
      case 7:
        return multiply<7, kVectors>(p, scale, start);
      case 8:
        return multiply<8, kVectors>(p, scale, start);
      case 9:
        return multiply<9, kVectors>(p, scale, start);
      case 10:
        return multiply<10, kVectors>(p, scale, start);
      case 11:
        return multiply<11, kVectors>(p, scale, start);
      case 12:
        return multiply<12, kVectors>(p, scale, start);
    }
  }
}

// All rows, `width` columns (a multiple of 16).
void multiply_all(std::size_t rows, std::size_t width, Product p, float scale, Start start) {
  const RowTiles tiles(rows);
  const Product first = p;
  for (std::size_t column = 0; column < width;) {
    const bool wide = column + kTileWidth <= width;
    std::size_t row = 0;
    for (std::size_t t = 0; t < tiles.count; ++t) {
      const std::size_t height = tiles.height + (t < tiles.taller);
      p.a = first.a + row * first.a_row;
      p.b = first.b + column;
      p.c = first.c + row * first.c_row + column;
      p.start = first.start ? first.start + column : nullptr;
      p.mask = first.mask ? first.mask + row * first.c_row + column : nullptr;
      if (wide) {
        multiply_rows<kTileVectors>(height, p, scale, start);
      } else {
        multiply_rows<1>(height, p, scale, start);
      }
      row += height;
    }
    column += wide ? kTileWidth : kLanes;
  }
}

void forward(const DenseShape& shape, std::size_t rows, const float* x, std::size_t x_stride, const float* w,
             const float* bias, float* z, std::size_t z_stride, bool relu) {
  for (std::size_t begin = 0; begin < shape.in; begin += shape.block) {
    const std::size_t inputs = smaller(shape.block, shape.in - begin);
    const bool last = begin + inputs == shape.in;
    for (std::size_t column = 0; column < shape.out_padded; column += kPanel) {
      const std::size_t width = smaller(kPanel, shape.out_padded - column);
      const Start start = begin == 0 && bias ? Start::kLine : Start::kKeep;
      multiply_all(rows, width,
                   Product{.steps = inputs,
                           .a = x + begin,
                           .a_row = x_stride,
                           .a_step = 1,
                           .b = w,
                           .b_step = width,
                           .c = z + column,
                           .c_row = z_stride,
                           .start = bias ? bias + column : nullptr,
                           .relu = relu && last,
                           .mask = nullptr},
                   1.0f, start);
      w += inputs * width;
    }
  }
}

// Lines of up to kTileRows rows of dz stay in registers while w streams by.
template <int kRows, int kVectors>
void update_tile(std::size_t inputs, const float* x, std::size_t x_stride, const float* dz, std::size_t dz_stride,
                 float scale, float* w, std::size_t w_step, const float* ahead) {
  Vec d[kRows][kVectors];
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) d[r][v] = load(dz + r * dz_stride + v * kLanes) * splat(scale);
  for (std::size_t i = 0; i < inputs; ++i) {
    Vec sum[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) sum[v] = load(w + v * kLanes);
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      const Vec value = splat(x[r * x_stride + i]);
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) sum[v] += value * d[r][v];
    }
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) store(w + v * kLanes, sum[v]);
    w += w_step;
    if (ahead) {
      for (int v = 0; v < kVectors * kLanes; v += 16) __builtin_prefetch(ahead + v, 0, 2);
      ahead += w_step;
    }
  }
}

template <int kVectors>
void update_rows(std::size_t rows, std::size_t inputs, const float* x, std::size_t x_stride, const float* dz,
                 std::size_t dz_stride, float scale, float* w, std::size_t w_step, const float* ahead) {
#define MUSTER_ROWS(n) \
  case n:              \
    return update_tile<n, kVectors>(inputs, x, x_stride, dz, dz_stride, scale, w, w_step, ahead)
  switch (rows) {
    MUSTER_ROWS(1);
    MUSTER_ROWS(2);
    MUSTER_ROWS(3);
    MUSTER_ROWS(4);
    MUSTER_ROWS(5);
    MUSTER_ROWS(6);
  }
  if constexpr (kTileRows == 12) {
    switch (rows) {
      MUSTER_ROWS(7);
      MUSTER_ROWS(8);
      MUSTER_ROWS(9);
      MUSTER_ROWS(10);
      MUSTER_ROWS(11);
      MUSTER_ROWS(12);
    }
  }
#undef MUSTER_ROWS
}

void update(const DenseShape& shape, std::uint32_t first, std::uint32_t last, std::size_t rows, const float* x,
            std::size_t x_stride, const float* dz, std::size_t dz_stride, float scale, float* target,
            const float* ahead) {
  const std::size_t end = smaller(std::size_t{last} * shape.block, shape.in);
  for (std::size_t begin = std::size_t{first} * shape.block; begin < end; begin += shape.block) {
    const std::size_t inputs = smaller(shape.block, shape.in - begin);
    for (std::size_t column = 0; column < shape.out_padded; column += kPanel) {
      const std::size_t width = smaller(kPanel, shape.out_padded - column);
      if (rows <= kTileRows) {
        for (std::size_t at = 0; at < width;) {
          const bool wide = at + kTileWidth <= width;
          const float* lines = dz + column + at;
          const float* next = ahead ? ahead + at : nullptr;
          if (wide) {
            update_rows<kTileVectors>(rows, inputs, x + begin, x_stride, lines, dz_stride, scale, target + at, width,
                                      next);
          } else {
            update_rows<1>(rows, inputs, x + begin, x_stride, lines, dz_stride, scale, target + at, width, next);
          }
          at += wide ? kTileWidth : kLanes;
        }
      } else {
        multiply_all(inputs, width,
                     Product{.steps = rows,
                             .a = x + begin,
                             .a_row = 1,
                             .a_step = x_stride,
                             .b = dz + column,
                             .b_step = dz_stride,
                             .c = target,
                             .c_row = width,
                             .start = nullptr,
                             .relu = false,
                             .mask = nullptr},
                     scale, Start::kKeep);
      }
      target += inputs * width;
      if (ahead) ahead += inputs * width;
    }
  }
}

void update_bias(std::size_t rows, std::size_t width, const float* dz, std::size_t dz_stride, float scale,
                 float* target) {
  for (std::size_t column = 0; column < width; column += kLanes) {
    Vec sum{};
    for (std::size_t r = 0; r < rows; ++r) sum += load(dz + r * dz_stride + column);
    store(target + column, load(target + column) + sum * splat(scale));
  }
}

void pick(const DenseShape& shape, std::size_t rows, const std::uint32_t* lines, const float* w, const float* bias,
          float* z, std::size_t z_stride, bool relu) {
  for (std::size_t column = 0; column < shape.out_padded; column += kPanel) {
    const std::size_t width = smaller(kPanel, shape.out_padded - column);
    for (std::size_t r = 0; r < rows; ++r) {
      const float* line = w + lines[r] * width;
      float* to = z + r * z_stride + column;
      for (std::size_t at = 0; at < width; at += kLanes) {
        const Vec value = load(line + at) + load(bias + column + at);
        store(to + at, relu ? (value < Vec{} ? Vec{} : value) : value);
      }
    }
    w += shape.in * width;
  }
}

// Lane j of the two results of exchanging the off-diagonal kHalf x kHalf parts of a pair of lines.
template <int kHalf>
MUSTER_INLINE void exchange(Vec& a, Vec& b) {
  VecInt low{};
  VecInt high{};
  for (int j = 0; j < kLanes; ++j) {
    low[j] = (j & kHalf) == 0 ? j : kLanes + j - kHalf;
    high[j] = (j & kHalf) == 0 ? j + kHalf : kLanes + j;
  }
  const Vec top = shuffle(a, b, low);
  b = shuffle(a, b, high);
  a = top;
}

template <int kHalf>
MUSTER_INLINE void exchange_all(Vec (&line)[kLanes]) {
  if constexpr (kHalf < kLanes) {
#pragma GCC unroll 16
    for (int i = 0; i < kLanes; ++i) {
      if ((i & kHalf) == 0) exchange<kHalf>(line[i], line[i + kHalf]);
    }
    exchange_all<kHalf * 2>(line);
  }
}

// `inputs` lines (<= 32, panels of block `inputs_in_block`) of w from input `offset` of a block on, turned into one
// panel: out lines of `width` (16 or 32) inputs; inputs beyond are zero.
void transpose_panel(const DenseShape& shape, const float* block, std::size_t inputs_in_block, std::size_t offset,
                     std::size_t inputs, std::size_t width, float* panel) {
  for (std::size_t column = 0; column < shape.out_padded; column += kLanes) {
    const std::size_t panel_begin = column / kPanel * kPanel;
    const std::size_t panel_width = smaller(kPanel, shape.out_padded - panel_begin);
    const float* w = block + inputs_in_block * panel_begin + offset * panel_width + (column - panel_begin);
    const std::size_t lines = column < shape.out ? smaller(kLanes, shape.out - column) : 0;
    for (std::size_t part = 0; part < width; part += kLanes) {
      // The same lines of the next panel, which no prefetcher of the processor would find.
      for (int i = 0; i < kLanes; ++i) __builtin_prefetch(w + inputs_in_block * kPanel + (part + i) * panel_width);
      Vec line[kLanes];
#pragma GCC unroll 16
      for (int i = 0; i < kLanes; ++i) line[i] = part + i < inputs ? load(w + (part + i) * panel_width) : Vec{};
      exchange_all<1>(line);
      if (lines == kLanes) {
#pragma GCC unroll 16
        for (int i = 0; i < kLanes; ++i) store(panel + (column + i) * width + part, line[i]);
      } else {
        for (std::size_t i = 0; i < lines; ++i) store(panel + (column + i) * width + part, line[i]);
      }
    }
  }
}

void transpose(const DenseShape& shape, const float* w, float* transposed) {
  const std::size_t in_padded = (shape.in + 15) / 16 * 16;
  for (std::size_t at = 0; at < in_padded; at += kPanel) {
    const std::size_t width = smaller(kPanel, in_padded - at);
    // Only used on matrices of one block.
    transpose_panel(shape, w, shape.in, at, smaller(width, shape.in - at), width, transposed);
    transposed += width * shape.out;
  }
}

// dx of kInputs inputs for kRows rows, with the outputs in the lanes: each line of w is read once and the sums over
// lanes come at the end, so this suits few rows and many outputs.
template <int kRows, int kInputs>
void dot_tile(const DenseShape& shape, const float* block, std::size_t inputs_in_block, std::size_t offset,
              const float* dz, std::size_t dz_stride, const float* mask, bool add, float* dx, std::size_t dx_stride) {
  Vec sum[kRows][kInputs];
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 4
    for (int i = 0; i < kInputs; ++i) sum[r][i] = Vec{};
  for (std::size_t column = 0; column < shape.out_padded; column += kPanel) {
    const std::size_t width = smaller(kPanel, shape.out_padded - column);
    const float* w = block + inputs_in_block * column + offset * width;
    for (std::size_t at = 0; at < width; at += kLanes) {
      Vec line[kInputs];
#pragma GCC unroll 4
      for (int i = 0; i < kInputs; ++i) line[i] = load(w + i * width + at);
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r) {
        const Vec d = load(dz + r * dz_stride + column + at);
#pragma GCC unroll 4
        for (int i = 0; i < kInputs; ++i) sum[r][i] += d * line[i];
      }
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int i = 0; i < kInputs; ++i) {
      float total = add_lanes(sum[r][i]);
      if (mask && !(mask[r * dx_stride + i] > 0)) total = 0;
      dx[r * dx_stride + i] = add ? dx[r * dx_stride + i] + total : total;
    }
  }
}

constexpr std::size_t kDotRows = kRegisters == 32 ? 12 : 6;

template <int kInputs>
void dot_rows(std::size_t rows, const DenseShape& shape, const float* block, std::size_t inputs_in_block,
              std::size_t offset, const float* dz, std::size_t dz_stride, const float* mask, bool add, float* dx,
              std::size_t dx_stride) {
#define MUSTER_ROWS(n) \
  case n:              \
    return dot_tile<n, kInputs>(shape, block, inputs_in_block, offset, dz, dz_stride, mask, add, dx, dx_stride)
  switch (rows) {
    MUSTER_ROWS(1);
    MUSTER_ROWS(2);
    MUSTER_ROWS(3);
    MUSTER_ROWS(4);
    MUSTER_ROWS(5);
    MUSTER_ROWS(6);
  }
  if constexpr (kDotRows == 12 && kInputs <= 2) {
    switch (rows) {
      MUSTER_ROWS(7);
      MUSTER_ROWS(8);
      MUSTER_ROWS(9);
      MUSTER_ROWS(10);
      MUSTER_ROWS(11);
      MUSTER_ROWS(12);
    }
  }
#undef MUSTER_ROWS
}

// Whether sums over lanes beat a panel of its own for the last `count` inputs.
constexpr bool few_left(std::size_t count, std::size_t out_padded) {
  return count <= 4 && out_padded >= 128;
}

constexpr std::size_t kManyInputs = kRegisters == 32 ? 4 : 2;
constexpr std::size_t kFewInputs = kRegisters == 32 ? 2 : 1;

// dx (+)= dz w^T for inputs [from, to) of a block and at most kDotRows rows.
void dot_inputs(const DenseShape& shape, std::size_t rows, const float* dz, std::size_t dz_stride, const float* block,
                std::size_t inputs, std::size_t from, std::size_t to, const float* mask, bool add, float* dx,
                std::size_t dx_stride) {
  const std::size_t step = rows <= 6 ? kManyInputs : kFewInputs;
  std::size_t i = from;
  for (; i + step <= to; i += step) {
    const float* m = mask ? mask + i : nullptr;
    if (rows <= 6) {
      dot_rows<kManyInputs>(rows, shape, block, inputs, i, dz, dz_stride, m, add, dx + i, dx_stride);
    } else {
      dot_rows<kFewInputs>(rows, shape, block, inputs, i, dz, dz_stride, m, add, dx + i, dx_stride);
    }
  }
  for (; i < to; ++i) {
    const float* m = mask ? mask + i : nullptr;
    dot_rows<1>(rows, shape, block, inputs, i, dz, dz_stride, m, add, dx + i, dx_stride);
  }
}

// The same for any number of rows.
void dot_all(const DenseShape& shape, std::size_t rows, const float* dz, std::size_t dz_stride, const float* block,
             std::size_t inputs, std::size_t from, std::size_t to, const float* mask, bool add, float* dx,
             std::size_t dx_stride) {
  for (std::size_t r = 0; r < rows; r += 6) {
    dot_inputs(shape, smaller(6, rows - r), dz + r * dz_stride, dz_stride, block, inputs, from, to,
               mask ? mask + r * dx_stride : nullptr, add, dx + r * dx_stride, dx_stride);
  }
}

void backward_few(const DenseShape& shape, std::uint32_t from, std::uint32_t to, std::size_t rows, const float* dz,
                  std::size_t dz_stride, const float* w, bool add, float* dx, std::size_t dx_stride) {
  dot_all(shape, rows, dz, dz_stride, w, shape.in, from, to, nullptr, add, dx, dx_stride);
}

void backward(const DenseShape& shape, std::uint32_t first, std::uint32_t last, std::size_t rows, const float* dz,
              std::size_t dz_stride, const float* w, const float* mask, float* dx, std::size_t dx_stride,
              float* scratch) {
  const std::size_t end = smaller(std::size_t{last} * shape.block, shape.in);
  for (std::size_t begin = std::size_t{first} * shape.block; begin < end; begin += shape.block) {
    const std::size_t inputs = smaller(shape.block, shape.in - begin);
    const float* block = w + begin * shape.out_padded;
    const float* block_mask = mask ? mask + begin : nullptr;
    // Sums over lanes cost about 3 operations per value of dx, transposing about 5 per 16 weights.
    if (rows <= kDotRows && shape.out_padded >= 8 * rows) {
      dot_inputs(shape, rows, dz, dz_stride, block, inputs, 0, inputs, block_mask, false, dx + begin, dx_stride);
      continue;
    }
    for (std::size_t at = 0; at < inputs; at += kPanel) {
      const std::size_t count = smaller(kPanel, inputs - at);
      // A panel of few inputs would multiply mostly by zero.
      if (few_left(count, shape.out_padded)) {
        dot_all(shape, rows, dz, dz_stride, block, inputs, at, at + count, block_mask, false, dx + begin, dx_stride);
        continue;
      }
      const std::size_t width = (count + 15) / 16 * 16;
      transpose_panel(shape, block, inputs, at, count, width, scratch);
      multiply_all(rows, width,
                   Product{.steps = shape.out,
                           .a = dz,
                           .a_row = dz_stride,
                           .a_step = 1,
                           .b = scratch,
                           .b_step = width,
                           .c = dx + begin + at,
                           .c_row = dx_stride,
                           .start = nullptr,
                           .relu = false,
                           .mask = mask ? mask + begin + at : nullptr},
                   1.0f, Start::kZero);
    }
  }
}

// Calls visit(flat offset, packed offset, values, panel width) for every line of the matrix.
template <typename Visit>
MUSTER_INLINE void for_each_line(const DenseShape& shape, const Visit& visit) {
  std::size_t packed = 0;
  for (std::size_t begin = 0; begin < shape.in; begin += shape.block) {
    const std::size_t inputs = smaller(shape.block, shape.in - begin);
    for (std::size_t column = 0; column < shape.out_padded; column += kPanel) {
      const std::size_t width = smaller(kPanel, shape.out_padded - column);
      const std::size_t values = smaller(width, shape.out - column);
      for (std::size_t i = 0; i < inputs; ++i) {
        visit((begin + i) * shape.out + column, packed, values, width);
        packed += width;
      }
    }
  }
}

void pack(const DenseShape& shape, const float* flat, float* packed) {
  for_each_line(shape, [=](std::size_t from, std::size_t to, std::size_t values, std::size_t width) {
    if (values == 32) {
      __builtin_memcpy(packed + to, flat + from, 32 * sizeof(float));
    } else if (values == 16) {
      __builtin_memcpy(packed + to, flat + from, 16 * sizeof(float));
    } else {
      std::size_t i = 0;
      for (; i + 4 <= values; i += 4) __builtin_memcpy(packed + to + i, flat + from + i, 4 * sizeof(float));
      for (; i < values; ++i) packed[to + i] = flat[from + i];
      for (; i < width; ++i) packed[to + i] = 0;
    }
  });
}

void unpack(const DenseShape& shape, const float* packed, float* flat) {
  for_each_line(shape, [=](std::size_t to, std::size_t from, std::size_t values, std::size_t) {
    if (values == 32) {
      __builtin_memcpy(flat + to, packed + from, 32 * sizeof(float));
    } else if (values == 16) {
      __builtin_memcpy(flat + to, packed + from, 16 * sizeof(float));
    } else {
      std::size_t i = 0;
      for (; i + 4 <= values; i += 4) __builtin_memcpy(flat + to + i, packed + from + i, 4 * sizeof(float));
      for (; i < values; ++i) flat[to + i] = packed[from + i];
    }
  });
}

}  // namespace

const DenseKernels& dense_kernels() {
  static constexpr DenseKernels table{forward, backward,  backward_few, update, update_bias,
                                      pick,    transpose, pack,         unpack};
  return table;
}

}  // namespace muster::MUSTER_ISA_SPACE
