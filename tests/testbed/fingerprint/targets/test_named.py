"""Targets by their words."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from testbed.fingerprint.targets.named import TargetOptions, open_target
from workloads.errors import ScenarioError

OPTIONS = TargetOptions(4096, 9.0)


@pytest.mark.parametrize(
    ("target", "changes", "ranks", "dtype"),
    [
        ("netreduce", {}, 4, "float32"),
        ("rabenseifner", {"overrides": ("topology.hosts=6",)}, 6, "float32"),
        ("fpga", {"overrides": ("job.dtype=int32",)}, 4, "int32"),
        ("parallel_netreduce", {}, 6, "float32"),
        ("command:cat {in} {out}", {"ranks": 5, "dtype": "int32"}, 5, "int32"),
    ],
)
def test_targets(target: str, changes: dict[str, Any], ranks: int, dtype: str) -> None:
    with open_target(target, replace(OPTIONS, **changes)) as reducer:
        assert (reducer.ranks, reducer.dtype, reducer.elements) == (ranks, dtype, 4096)


@pytest.mark.parametrize(
    ("target", "changes", "words"),
    [
        ("nertreduce", {}, "no such target; found 'nertreduce'"),
        ("netreduce", {"ranks": 3}, "--ranks: means nothing for netreduce; found 3; allowed: --set topology.hosts=N"),
        ("rack", {"dtype": "int32"}, "--dtype: means nothing for rack"),
        ("rack", {"scenario": "ring"}, "--scenario: means nothing for rack"),
        ("command:cat {in} {out}", {"overrides": ("a=b",)}, "--set: means nothing for command:cat"),
        ("command:cat {in} {out}", {"seed": 0}, "--seed: means nothing for command:cat"),
        ("torch:gloo", {"scenario": "rack"}, "--scenario: means nothing for torch:gloo"),
        ("torch:ina", {"ranks": 2}, "--ranks: means nothing for torch:ina"),
        ("no/such.yaml", {}, "no such file"),
    ],
)
def test_refused_words(target: str, changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ScenarioError) as error, open_target(target, replace(OPTIONS, **changes)):
        pass
    assert words in str(error.value)
