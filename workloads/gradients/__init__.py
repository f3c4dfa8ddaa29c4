"""Where gradients come from, by name."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from typing import Any

import numpy as np

from workloads.config import HostConfig, WorkloadConfig
from workloads.errors import ScenarioError
from workloads.gradients.ahead import DrawnAhead
from workloads.gradients.base import (
    AwaitedSource,
    DrawnSource,
    GradientSource,
    TaskedSource,
    Vector,
    awaited,
    work_buffers,
)
from workloads.gradients.digits import DigitsSource, digits_elements
from workloads.gradients.external import attached_source
from workloads.gradients.extreme import ExtremeSource
from workloads.gradients.given import GivenPart
from workloads.gradients.synthetic import SyntheticSource

__all__ = [
    "AwaitedSource",
    "DrawnSource",
    "GradientSource",
    "TaskedSource",
    "Vector",
    "awaited",
    "create_source",
    "digits_elements",
    "element_dtype",
    "source_of",
    "work_buffers",
]


def element_dtype(dtype: str) -> np.dtype[Any]:
    """NumPy type of the elements of an `ArithmeticSpec.dtype`: float32, or int32 for both int32 and int32sat."""
    return np.dtype("<f4" if dtype == "float32" else "<i4")


def _digits(config: WorkloadConfig, rank: int, size: int, dtype: str) -> GradientSource:
    if dtype != "float32":
        raise ScenarioError("digits trains in float32", key="job.dtype", found=dtype, allowed="float32")
    return DigitsSource(config, rank, size)


_SOURCES: dict[str, Callable[[WorkloadConfig, int, int, str], GradientSource]] = {
    "synthetic": lambda config, rank, size, dtype: SyntheticSource(config, rank, element_dtype(dtype)),
    "extreme": lambda config, rank, size, dtype: ExtremeSource(config, rank, element_dtype(dtype)),
    "special": lambda config, rank, size, dtype: ExtremeSource(config, rank, element_dtype(dtype), special=True),
    "digits": _digits,
}


def create_source(config: WorkloadConfig, rank: int, size: int, dtype: str = "float32") -> GradientSource:
    """The gradients of `rank` out of `size`; `dtype` as in ArithmeticSpec. Raises ScenarioError when there is no such
    workload or it cannot work with that type, HostCapabilityError when its data is not installed."""
    if config.kind == "external":  # no scenario can name it
        return attached_source(rank)
    factory = _SOURCES.get(config.kind)
    if factory is None:
        names = difflib.get_close_matches(config.kind, _SOURCES, 1) + sorted(_SOURCES)
        allowed = ", ".join(dict.fromkeys(names))
        raise ScenarioError("unknown workload", key="job.workload", found=config.kind, allowed=allowed)
    source = factory(config, rank, size, dtype)
    if config.given is not None:
        source = GivenPart(source, *config.given)
    return DrawnAhead(source, config.drawn_ahead) if config.drawn_ahead else source


def source_of(config: HostConfig) -> GradientSource:
    """The gradients of one worker. Raises as `create_source`."""
    share = config.collective
    return create_source(config.workload, share.rank, share.size, share.arithmetic.dtype)
