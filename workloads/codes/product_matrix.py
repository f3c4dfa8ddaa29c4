"""Product-matrix codes (K. V. Rashmi, N. B. Shah, P. V. Kumar, Optimal exact-regenerating codes for distributed storage
at the MSR and MBR points via a product-matrix construction, IEEE Transactions on Information Theory 57(8), 2011).

Node i stores psi_i M, M being the file's symbols in a matrix with symmetric parts. For the lost node f a donor sends
its symbols times a vector that f alone decides. From d of these the newcomer computes M times that vector, and by
symmetry what f stored.

MBR, any d >= k: M = [[S, T], [T', 0]], S symmetric; the vector is psi_f, and M psi_f is what f stored.
MSR, d = 2k - 2: M = [S1; S2], both symmetric; psi_i = [phi_i, lambda_i phi_i]; the vector is phi_f, and f stored S1
phi_f + lambda_f S2 phi_f. A larger d is made of a longer code whose first d - 2k + 2 nodes are zero (shortening).
"""

from __future__ import annotations

import numpy as np

from workloads.codes.gf256 import Bytes, combine, invert, power, vandermonde
from workloads.codes.linear import LinearCode

__all__ = ["mbr", "msr", "msr_points"]

_ELEMENTS = 255


def mbr(n: int, k: int, d: int) -> LinearCode:
    """1 <= k <= d < n <= 255. alpha = d, B = k d - k (k - 1) / 2. The file's symbols fill the upper triangle of S, then
    T, row by row."""
    psi = vandermonde(list(range(1, n + 1)), d)
    places = [(row, column) for row in range(k) for column in range(row, k)]
    places += [(row, column) for row in range(k) for column in range(k, d)]
    generator = _generator(psi, places, {place: (place[1], place[0]) for place in places}, d)
    return LinearCode(n, k, d, d, generator, psi, psi, np.broadcast_to(np.eye(d, dtype=np.uint8), (n, d, d)))


def msr_points(n: int, alpha: int) -> list[int]:
    """`n` different elements whose alpha-th powers also differ; fewer if there are no more."""
    found: dict[int, int] = {}
    for point in range(1, _ELEMENTS + 1):
        found.setdefault(power(point, alpha), point)
    return list(found.values())[:n]


def msr(n: int, k: int, d: int) -> LinearCode:
    """Needs 2 <= k and 2k - 2 <= d < n. There must be as many points as nodes, including the zero nodes. Sizes: alpha =
    d - k + 1, B = k alpha. The first k nodes store the file."""
    zeros = d - 2 * k + 2
    alpha, all_nodes, known = d - k + 1, n + zeros, k + zeros
    points = msr_points(all_nodes, alpha)
    psi = vandermonde(points, 2 * alpha)
    phi, scales = psi[:, :alpha], [power(point, alpha) for point in points]
    triangle = [(row, column) for row in range(alpha) for column in range(row, alpha)]
    places = [(part * alpha + row, column) for part in range(2) for row, column in triangle]
    mirrored = {
        (part * alpha + row, column): (part * alpha + column, row) for part in range(2) for row, column in triangle
    }
    whole = _generator(psi, places, mirrored, alpha)
    systematic = combine(whole, invert(whole[: known * alpha]))
    one = np.eye(alpha, dtype=np.uint8)
    results = np.array([np.concatenate([one, combine(one * np.uint8(scale), one)], axis=1) for scale in scales])
    order = [*range(zeros, all_nodes), *range(zeros)]
    return LinearCode(
        n, k, d, alpha, systematic[zeros * alpha :, zeros * alpha :], phi[order][:n], psi[order], results[order][:n]
    )


def _generator(
    psi: Bytes, places: list[tuple[int, int]], mirrored: dict[tuple[int, int], tuple[int, int]], columns: int
) -> Bytes:
    """What all nodes store of a file whose symbols are at `places` of M, and at those that mirror them; shape (nodes
    times columns, symbols)."""
    generator = np.zeros((len(psi), columns, len(places)), np.uint8)
    for symbol, place in enumerate(places):
        for row, column in {place, mirrored[place]}:
            if column < columns:
                generator[:, column, symbol] ^= psi[:, row]
    return generator.reshape(-1, len(places))
