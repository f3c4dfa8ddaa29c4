"""A part of a gradient among zeros."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from workloads.config import WorkloadConfig
from workloads.gradients import create_source

CONFIG = WorkloadConfig("special", 7, 100, 3)


@pytest.mark.parametrize("part", [(0, 0), (0, 100), (13, 29), (99, 1)])
@pytest.mark.parametrize("ahead", [0, 2])
def test_the_rest_is_zero_in_each_iteration(part: tuple[int, int], ahead: int) -> None:
    whole, first, behind = create_source(CONFIG, 1, 4, "int32"), part[0], sum(part)
    source = create_source(replace(CONFIG, given=part, drawn_ahead=ahead), 1, 4, "int32")
    assert (source.elements, source.iterations) == (100, 3)
    for iteration in (0, 1, 2, 1):
        found = source.gradient(iteration)
        assert np.array_equal(found[first:behind], whole.gradient(iteration)[first:behind])
        assert not found[:first].any()
        assert not found[behind:].any()
