"""How late deadlines were met, in bounded memory."""

from __future__ import annotations

__all__ = ["LagHistogram"]

_SUB_BITS = 3
_SUB = 1 << _SUB_BITS
_BUCKETS = 64 * _SUB


class LagHistogram:
    """Counts in buckets whose width is an eighth of a power of two: percentiles are at most 12.5 % too high."""

    def __init__(self) -> None:
        self._counts = [0] * _BUCKETS
        self.count = 0
        self.max_ns = 0

    def record(self, lag_ns: int) -> None:
        lag_ns = max(lag_ns, 0)
        self._counts[_bucket(lag_ns)] += 1
        self.count += 1
        if lag_ns > self.max_ns:
            self.max_ns = lag_ns

    def percentile_ns(self, percent: float) -> int:
        """The smallest bucket edge that at least `percent` of the lags do not exceed; 0 when there were none."""
        wanted, seen = self.count * percent / 100, 0
        for index, count in enumerate(self._counts):
            seen += count
            if count and seen >= wanted:
                return min(_upper_edge(index), self.max_ns)
        return 0


def _bucket(lag_ns: int) -> int:
    shift = max(lag_ns.bit_length() - _SUB_BITS - 1, 0)
    return min(shift * _SUB + (lag_ns >> shift), _BUCKETS - 1)


def _upper_edge(index: int) -> int:
    """The largest value in a bucket."""
    if index < 2 * _SUB:
        return index
    shift, part = index // _SUB - 1, index % _SUB
    return ((_SUB + part + 1) << shift) - 1
