// Linalg.h - linear algebra on batches of matrices.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Matrices are the last two dims; dims in front are batch dims. Conventions are
// those of spec 09, 13. All but the solvers at the end run on LAPACK, so ask
// `haveLapack` before.
#ifndef SHARDTYPE_KERNELS_LINALG_H
#define SHARDTYPE_KERNELS_LINALG_H

#include "shardtype/Tensor/Tensor.h"
#include <vector>

namespace shardtype::kernels {

/// Is there a LAPACK on this machine?
bool haveLapack();

using Tensors = std::vector<Tensor>;

/// The lower factor, with the operand's elements above the diagonal, as JAX
/// leaves them; all NaN where the matrix is not positive definite. Reads the
/// lower triangle only.
Tensor cholesky(const Tensor &a);
/// Packed factors, row swaps (i32, from 0), and the permutation they make.
Tensors lu(const Tensor &a);
/// Packed reflectors and their scales.
Tensors geqrf(const Tensor &a);
/// With columns exchanged: also which column each was, from `pivots` on.
Tensors geqp3(const Tensor &a, const Tensor &pivots);
/// The first columns of the product of reflectors that geqrf packs.
Tensor householderProduct(const Tensor &a, const Tensor &taus);
/// Q C, C Q, or with the conjugate transpose of Q.
Tensor ormqr(const Tensor &a, const Tensor &taus, const Tensor &c, bool left,
             bool transpose);
/// Q and R; `full`: all columns of Q. `pivoting`: also the pivots, from 0.
Tensors qr(const Tensor &a, bool full, bool pivoting);

struct SvdOptions {
  bool vectors = true, full = false;
  bool plainQr = false; // By gesvd instead of gesdd.
};
/// Values descending; then U and V^H.
Tensors svd(const Tensor &a, const SvdOptions &options);
/// Eigenvectors and ascending values of hermitian matrices.
Tensors eigh(const Tensor &a, bool lower);
/// Eigenvalues, then left and right eigenvectors as asked for; complex.
Tensors eig(const Tensor &a, bool left, bool right);
/// T, then the vectors if asked for.
Tensors schur(const Tensor &a, bool vectors);
/// Packed H and reflectors, and their scales.
Tensors hessenberg(const Tensor &a);
/// Packed reflectors, diagonal, off-diagonal, scales.
Tensors tridiagonal(const Tensor &a, bool lower);

struct TriangularOptions {
  bool left = false, lower = false, transpose = false, conjugate = false,
       unitDiagonal = false;
};
/// op(A) X = B, or X op(A) = B.
Tensor triangularSolve(const Tensor &a, const Tensor &b,
                       const TriangularOptions &options);
/// Diagonals below, at and above; the right side.
Tensor tridiagonalSolve(const Tensor &lower, const Tensor &diagonal,
                        const Tensor &upper, const Tensor &b);

/// The permutation of `size` that row swaps make, in order. i32.
Tensor pivotsToPermutation(const Tensor &pivots, int64_t size);
/// The upper factor of R^T R + w w^T.
Tensor choleskyUpdate(const Tensor &r, const Tensor &w);
/// alpha A A^T + beta C.
Tensor symmetricProduct(const Tensor &a, const Tensor &c, double alpha,
                        double beta);

} // namespace shardtype::kernels

#endif
