"""Reed-Solomon codes: the first k nodes store the file, the others a parity each. Any k repair a node.

With one or two parities they are those of RAID-6: P, the sum of all, and Q, the sum of 2^i d_i. With more, a Cauchy
matrix, each of whose square parts has an inverse (J. Bloemer et al., An XOR-based erasure-resilient coding scheme,
1995); RAID-6 cannot continue beyond two without losing that.
"""

from __future__ import annotations

import numpy as np

from workloads.codes.gf256 import Bytes, inverse, power
from workloads.codes.linear import LinearCode

__all__ = ["reed_solomon"]

_RAID6 = 2


def reed_solomon(n: int, k: int) -> LinearCode:
    """1 <= k < n <= 255. To repair is to decode: a donor's answer is what it stores."""
    parities = n - k
    if parities <= _RAID6:
        rows = [[power(2, parity * node) for node in range(k)] for parity in range(parities)]
    else:
        rows = [[inverse((k + parity) ^ node) for node in range(k)] for parity in range(parities)]
    generator: Bytes = np.concatenate([np.eye(k, dtype=np.uint8), np.array(rows, np.uint8)])
    return LinearCode(
        n, k, k, 1, generator,
        questions=np.ones((n, 1), np.uint8), answers=generator, results=generator.reshape(n, 1, k),
    )  # fmt: skip
