#include "grouping/eigenpairs.h"

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <Eigen/QR>

#include "base/check.h"
#include "base/random.h"

namespace muster {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;
using Symmetric = Eigen::Map<const MatrixXd>;

// With n^3 work the direct solver is the faster one for so few rows.
constexpr Index kDirectRows = 200;
constexpr Index kSpare = 8;   // more vectors than wanted: the iteration converges by the gap behind the last of them
constexpr Index kBlocks = 4;  // powers of the matrix in a basis
constexpr int kMostCycles = 60;
constexpr double kResidual = 1e-10;

Symmetric as_matrix(const Rows<double>& rows) {
  const auto count = static_cast<Index>(rows.count());
  return {rows.values.data(), count, count};
}

// Columns of `vectors` belong to `values`, both ascending as Eigen's solver gives them: the last ones, largest first.
EigenPairs largest(const VectorXd& values, const MatrixXd& vectors, Index count) {
  EigenPairs pairs;
  pairs.vectors = Rows<double>(static_cast<std::uint32_t>(count), static_cast<std::size_t>(vectors.rows()));
  for (Index t = 0; t < count; ++t) {
    const Index from = values.size() - 1 - t;
    pairs.values.push_back(values[from]);
    VectorXd::Map(pairs.vectors.row(static_cast<std::uint32_t>(t)).data(), vectors.rows()) = vectors.col(from);
  }
  return pairs;
}

MatrixXd orthonormal(const MatrixXd& columns) {
  const Eigen::HouseholderQR<MatrixXd> qr(columns);
  return qr.householderQ() * MatrixXd::Identity(columns.rows(), columns.cols());
}

// An orthonormal basis of X, AX, ..., A^(blocks-1) X in `basis`, and A times it in `image`.
void krylov_basis(const Symmetric& matrix, const MatrixXd& start, MatrixXd& basis, MatrixXd& image) {
  const Index width = start.cols();
  basis.leftCols(width) = orthonormal(start);
  for (Index b = 0; b < kBlocks; ++b) {
    image.middleCols(b * width, width).noalias() = matrix * basis.middleCols(b * width, width);
    if (b + 1 == kBlocks) break;
    const auto before = basis.leftCols((b + 1) * width);
    MatrixXd next = image.middleCols(b * width, width);
    for (int pass = 0; pass < 2; ++pass) {  // twice: once leaves rounding of the size of what was taken away
      const MatrixXd overlap = before.transpose() * next;
      next.noalias() -= before * overlap;
      for (Index column = 0; column < width; ++column) next.col(column).normalize();  // leaves zero as it is
    }
    // Where A adds nothing new, `next` is noise; with the whole basis in one decomposition it still ends orthogonal.
    MatrixXd all(basis.rows(), (b + 2) * width);
    all << before, next;
    basis.middleCols((b + 1) * width, width) = orthonormal(all).rightCols(width);
  }
}

EigenPairs by_iteration(const Symmetric& matrix, Index count) {
  const Index rows = matrix.rows();
  const Index width = count + kSpare;
  MatrixXd start(rows, width);
  Stream stream({.seed = 0, .purpose = Purpose::kGrouping});
  for (Index column = 0; column < width; ++column) {
    for (Index row = 0; row < rows; ++row) start(row, column) = stream.normal();
  }
  MatrixXd basis(rows, width * kBlocks);
  MatrixXd image(rows, width * kBlocks);
  VectorXd values;
  for (int cycle = 0; cycle < kMostCycles; ++cycle) {
    krylov_basis(matrix, start, basis, image);
    const MatrixXd small = basis.transpose() * image;
    const Eigen::SelfAdjointEigenSolver<MatrixXd> solver(small);
    const MatrixXd chosen = solver.eigenvectors().rightCols(width);
    values = solver.eigenvalues().tail(width);
    start.noalias() = basis * chosen;
    const MatrixXd residual =
        image * chosen.rightCols(count) - start.rightCols(count) * values.tail(count).asDiagonal();
    if (residual.colwise().norm().maxCoeff() <= kResidual * values[width - 1]) break;
  }
  return largest(values, start, count);
}

}  // namespace

EigenPairs leading_eigenpairs(const Rows<double>& matrix, std::uint32_t count) {
  MUSTER_CHECK(count >= 1 && count <= matrix.count(), "{} eigenpairs of {} rows", count, matrix.count());
  const Symmetric symmetric = as_matrix(matrix);
  const auto wanted = static_cast<Index>(count);
  if (symmetric.rows() > kDirectRows && (wanted + kSpare) * kBlocks * 3 <= symmetric.rows()) {
    return by_iteration(symmetric, wanted);
  }
  const Eigen::SelfAdjointEigenSolver<MatrixXd> solver(symmetric);
  return largest(solver.eigenvalues(), solver.eigenvectors(), wanted);
}

Rows<double> points_with_gram(const Rows<double>& gram) {
  // P G P^T = L D L^T, so the rows of P^T L sqrt(D) are such points.
  const Eigen::LDLT<MatrixXd> factors(as_matrix(gram));
  const MatrixXd lower = factors.matrixL();
  const VectorXd roots = factors.vectorD().cwiseMax(0.0).cwiseSqrt();
  const MatrixXd scaled = lower * roots.asDiagonal();
  const MatrixXd points = factors.transpositionsP().transpose() * scaled;
  Rows<double> rows(gram.count(), gram.count());
  for (std::uint32_t i = 0; i < rows.count(); ++i) {
    VectorXd::Map(rows.row(i).data(), points.cols()) = points.row(static_cast<Index>(i)).transpose();
  }
  return rows;
}

}  // namespace muster
