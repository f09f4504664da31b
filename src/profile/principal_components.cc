// Principal components of clients' vectors. With far more numbers than clients the n x n matrix of inner products of
// the centred rows has the same information as the d x d covariance: with u, lambda its eigenvectors and eigenvalues,
// row i has coordinate sqrt(lambda) * u_i on that component.
#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>

#include "profile/profile.h"

namespace muster {
namespace {

using Eigen::Index;
using Matrix = Eigen::MatrixXd;

// Columns taken together: enough for the product to be fast, few enough for the cache.
constexpr std::size_t kBlock = 256;

// The columns [begin, begin + width) of all rows, each column less its mean.
Matrix centred_block(const RowsView<float>& rows, std::size_t begin, std::size_t width) {
  Matrix block(static_cast<Index>(rows.count()), static_cast<Index>(width));
  for (std::uint32_t i = 0; i < rows.count(); ++i) {
    const std::span<const float> row = rows.row(i).subspan(begin, width);
    for (std::size_t c = 0; c < width; ++c) block(i, static_cast<Index>(c)) = row[c];
  }
  block.rowwise() -= block.colwise().mean().eval();
  return block;
}

// How many of the eigenvalues, which are ascending, hold `share` of their sum.
Index leading(const Eigen::VectorXd& values, double share) {
  const double wanted = share * (1 - 1e-12) * values.cwiseMax(0).sum();
  double sum = 0;
  Index count = 0;
  while (count < values.size() && (count == 0 || sum < wanted)) sum += std::max(0.0, values[values.size() - ++count]);
  return count;
}

}  // namespace

Rows<float> principal_components(const RowsView<float>& rows, double share) {
  const std::uint32_t n = rows.count();
  if (n == 0) return {};
  Matrix coordinates;  // a row per row, a column per component, the leading one last
  if (rows.width > n) {
    Matrix products = Matrix::Zero(n, n);
    for (std::size_t begin = 0; begin < rows.width; begin += kBlock) {
      products.selfadjointView<Eigen::Lower>().rankUpdate(
          centred_block(rows, begin, std::min(kBlock, rows.width - begin)));
    }
    const Eigen::SelfAdjointEigenSolver<Matrix> solver(products);  // reads the lower half
    const Index kept = leading(solver.eigenvalues(), share);
    coordinates =
        solver.eigenvectors().rightCols(kept) * solver.eigenvalues().tail(kept).cwiseMax(0).cwiseSqrt().asDiagonal();
  } else {
    const Matrix centred = centred_block(rows, 0, rows.width);
    const Eigen::SelfAdjointEigenSolver<Matrix> solver(Matrix(centred.transpose() * centred));
    coordinates = centred * solver.eigenvectors().rightCols(leading(solver.eigenvalues(), share));
  }
  const Index kept = coordinates.cols();
  Rows<float> result(n, static_cast<std::size_t>(kept));
  for (Index c = 0; c < kept; ++c) {
    const Index from = kept - 1 - c;
    // An eigenvector's sign is arbitrary: the coordinate that is farthest from 0 is made positive.
    Index farthest = 0;
    coordinates.col(from).cwiseAbs().maxCoeff(&farthest);
    const double sign = coordinates(farthest, from) < 0 ? -1 : 1;
    for (std::uint32_t i = 0; i < n; ++i) {
      result.row(i)[static_cast<std::size_t>(c)] = static_cast<float>(sign * coordinates(i, from));
    }
  }
  return result;
}

}  // namespace muster
