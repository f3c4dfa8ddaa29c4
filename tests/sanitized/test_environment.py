"""The stage finds what is wrong on purpose, and names the chunk of a finding; without sanitizers nothing passes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.sanitized import __main__ as stage
from tests.sanitized.environment import EXIT_CODE, NotSanitized, check_sanitized, sanitized_environment
from tests.sanitized.mutants import LONGEST, Mutator, Stream
from tests.support.native import require_native
from workloads.machine import FrameBatch

_TOP = Path(__file__).resolve().parents[2]


@pytest.mark.programs
@pytest.mark.minutes
@pytest.mark.parametrize(
    ("what", "told", "place"),
    [
        ("overrun", "heap-buffer-overflow", "overrun.c"),
        ("overflow", "signed integer overflow", "overrun.c"),
        ("slots", "use-after-poison", "absorb.c"),
    ],
)
def test_what_is_wrong_on_purpose_is_found(what: str, told: str, place: str) -> None:
    require_native("rc_fast")
    command = [sys.executable, "-P", "-m", "tests.sanitized.child", what]
    done = subprocess.run(command, env=sanitized_environment(), capture_output=True, text=True, check=False)
    assert done.returncode == EXIT_CODE, done.stderr
    assert told in done.stderr
    assert place in done.stderr


def test_libraries_without_sanitizers_are_refused() -> None:
    require_native("rc_fast")
    with pytest.raises(NotSanitized, match="was built without sanitizers"):
        check_sanitized()


def test_every_test_that_needs_the_c_core_is_run() -> None:
    """Tests of what happens without a library, and of the account of that, are not."""
    without = {
        "tests/support/native.py", "tests/support/agendas.py", "tests/support/irn_sides.py",
        "tests/support/batches.py", "tests/conftest.py", "tests/test_broken_c.py",
        "tests/workloads/native/test_account.py", "tests/workloads/native/test_build.py",
        "tests/switch_nodes/dataplane/conftest.py",
    }  # fmt: skip
    words = ("needs_native", "require_native", "load_core", "load_filter", "switch_library", "load_fast_path")
    found = {
        str(path.relative_to(_TOP))
        for path in (_TOP / "tests").rglob("*.py")
        if path.parent.name != "sanitized" and any(word in path.read_text() for word in words)
    }
    assert found - without == set(stage.DIFFERENTIAL)


def test_the_same_seed_makes_the_same_mutants() -> None:
    frames = [bytes(range(60)) * 3, bytes(42), b"\x00" * 14]
    batches = []
    for _ in range(2):
        batch = FrameBatch.of(2048, LONGEST)
        Mutator(Stream(frames, [0, 1, 2]), np.random.default_rng(7)).fill(batch)
        batches.append(batch)
    assert np.array_equal(batches[0].frames, batches[1].frames)
    assert np.array_equal(batches[0].lengths, batches[1].lengths)
    lengths = set(batches[0].lengths.tolist())
    assert min(lengths) == 0
    assert max(lengths) > 9100
    assert len(lengths) > 100
