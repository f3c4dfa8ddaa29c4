"""Memory of this process."""

from __future__ import annotations

from testbed.kernel.own_memory import peak_bytes, resident_bytes


def test_what_is_taken_is_seen() -> None:
    before = resident_bytes()
    taken = bytearray(50_000_000)
    for at in range(0, len(taken), 4096):
        taken[at] = 1
    assert 45_000_000 < resident_bytes() - before < 80_000_000
    assert peak_bytes() >= resident_bytes() - 8_000_000, "the kernel counts in batches"
