"""Memory of this process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parents[3]
_TAKES = """
from testbed.kernel.own_memory import peak_bytes, resident_bytes
before = resident_bytes()
taken = bytearray(50_000_000)
for at in range(0, len(taken), 4096):
    taken[at] = 1
print(resident_bytes() - before, peak_bytes() - before)
"""


def test_what_is_taken_is_seen() -> None:
    """In a process of its own: this one may have memory to spare."""
    done = subprocess.run([sys.executable, "-c", _TAKES], cwd=TOP, capture_output=True, text=True, check=True)
    resident, peak = map(int, done.stdout.split())
    assert 48_000_000 < resident < 60_000_000
    assert 48_000_000 < peak < 60_000_000
