"""Made-up all-reduces of `tb bench peers`."""

from __future__ import annotations

from testbed.bench.peers.cases import SUBJECTS, PeerBenchCase, Sample

__all__ = ["CASES", "samples"]

CASES = tuple(PeerBenchCase(hosts, 16_000_000, loss) for hosts in (4, 8) for loss in (0.0, 0.01))


def samples(*left_out: str) -> list[Sample]:
    """Three repeats of each subject; the n-th of them takes n times M/B, then 10 % less, then 10 % more."""
    return [
        Sample(
            subject, case, repeat, number * case.least_s * factor, int(1000 * case.loss) * repeat,
            *(() if subject in ("gloo", "openmpi") else ("pass", 4, -0.01 * repeat)),
        )
        for case in CASES
        for repeat, factor in enumerate((1.0, 0.9, 1.1), start=1)
        for number, subject in enumerate(SUBJECTS, start=1)
        if subject not in left_out
    ]  # fmt: skip
