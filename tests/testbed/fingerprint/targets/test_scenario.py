"""Scenarios in virtual time with given gradients."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from testbed.fingerprint.infer import fingerprint
from testbed.fingerprint.reducer import ReducerRefused, Unusable
from testbed.fingerprint.targets.scenario import ScenarioReducer
from workloads.errors import ScenarioError

ELEMENTS = 4096
PROGRAMS = Path(__file__).resolve().parents[3] / "data" / "programs"


def gradients(ranks: int, runs: int = 2) -> np.ndarray[tuple[int, int, int], np.dtype[np.float32]]:
    return np.random.default_rng(1).standard_normal((runs, ranks, ELEMENTS)).astype(np.float32)


@pytest.mark.parametrize("provocation", [0, 3])
def test_each_gradient_is_an_iteration(provocation: int) -> None:
    reducer = ScenarioReducer("rack-lossy", (), None, ELEMENTS)
    given = gradients(reducer.ranks)
    found = reducer.reduce(given, provocation)
    assert np.array_equal(found, ((given[:, 0] + given[:, 1]) + given[:, 2]) + given[:, 3])
    assert (reducer.ranks, reducer.dtype, reducer.provocations) == (4, "float32", 5)


def test_integers() -> None:
    reducer = ScenarioReducer("rack", ("job.dtype=int32sat",), None, ELEMENTS)
    given = np.full((1, 4, ELEMENTS), 1 << 30, np.int32)
    assert (reducer.reduce(given) == (1 << 31) - 1).all()
    finding = fingerprint(reducer, "rack")
    assert finding.traits["overflow"] == "sums saturate at 32 bits, once at the end"


def test_a_program_of_the_users_own() -> None:
    reducer = ScenarioReducer("switchml", (f"switch.program={PROGRAMS / 'endless.py'}:Endless",), None, ELEMENTS)
    ones = np.ones((1, 4, ELEMENTS), np.float32)
    assert (reducer.reduce(ones) == 4).all()
    with pytest.raises(ReducerRefused, match="gave up: unquantisable"):
        reducer.reduce(ones * np.float32(np.inf))


def test_ranks_that_hold_different_sums() -> None:
    reducer = ScenarioReducer("corrupt-result", (), None, 100_000)
    with pytest.raises(Unusable, match=r"ranks hold different sums: element 17652 is 0x[0-9a-f]{8} at rank 0"):
        reducer.reduce(np.ones((1, 4, 100_000), np.float32))


def test_a_network_that_fails() -> None:
    reducer = ScenarioReducer("dead-link", (), None, 100_000)
    with pytest.raises(ReducerRefused, match="h2 gave up: RETRY_EXC"):
        reducer.reduce(np.ones((1, 4, 100_000), np.float32))


@pytest.mark.parametrize(
    ("name", "changes", "key"),
    [
        ("jobs-mix", (), "jobs"),
        ("mixed-netreduce-ring", (), "beside"),
        ("rack", ("job.op=max",), "job.op"),
        ("ring", ("job.operation=reduce_scatter",), "job.operation"),
        ("shift", (), "job.protocol"),
        ("dlcp", (), "job.protocol"),
        ("repair", (), "job.protocol"),
        ("strategy", (), "job"),
        ("rack", ("job.size=4kB",), "job.size"),
        ("rack", ("job.iterations=4",), "job.iterations"),
    ],
)
def test_what_has_no_fingerprint(name: str, changes: tuple[str, ...], key: str) -> None:
    with pytest.raises(ScenarioError) as error:
        ScenarioReducer(name, changes, None, ELEMENTS)
    assert key in str(error.value.key)
