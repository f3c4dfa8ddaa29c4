"""The parameters that a sweep may vary: their units, bounds and defaults; and the algorithms of each family and
model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from testbed.reading.units import (
    UnitError,
    format_duration,
    format_rate,
    format_size,
    parse_duration,
    parse_rate,
    parse_size,
)
from testbed.scale.rack import rack_models
from testbed.scenario.protocols.named import protocol_names
from workloads.costs import FLAT_COSTS, MACHINE_COSTS

__all__ = ["FAMILIES", "Parameter", "algorithms_of", "family_of", "formulas_of_rack"]


@dataclass(frozen=True, slots=True)
class Parameter:
    parse: Callable[[object], int]
    """raises UnitError"""
    show: Callable[[int], str]
    low: int
    high: int
    default: int | None = None
    """None: must be given"""
    meaning: str = ""

    @property
    def allowed(self) -> str:
        return f"{self.show(self.low)} to {self.show(self.high)}"


def _whole(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise UnitError("not a whole number", "a whole number")
    return value


def _count(low: int, high: int, default: int | None = None, meaning: str = "") -> Parameter:
    return Parameter(_whole, str, low, high, default, meaning)


def _rate(meaning: str) -> Parameter:
    return Parameter(parse_rate, format_rate, 1000, 10**14, None, meaning)


def _duration(default: int | None, meaning: str) -> Parameter:
    return Parameter(parse_duration, format_duration, 0, 10**10, default, meaning)


_SIZE = Parameter(parse_size, format_size, 4, 1 << 40, None, "of one gradient")
_WINDOW = {
    "message_packets": _count(1, 1024, 170, "L"),
    "window_messages": _count(1, 16384, 2, "N"),
}

FAMILIES: Mapping[str, Mapping[str, Parameter]] = {
    "machines": {
        "gpus": _count(2, 1 << 20, None, "P"),
        "gpus_per_machine": _count(1, 1024, None, "n"),
        "size": _SIZE,
        "inter_rate": _rate("of a machine's NIC"),
        "intra_rate": _rate("of a link between GPUs of a machine"),
        "alpha": _duration(0, "latency of a hop"),
        "inner_alpha": _duration(0, "latency of a hop inside a machine"),
        "switch_alpha": _duration(-1, "latency of an aggregation; left out: twice alpha"),
        **_WINDOW,
    },
    "rack": {
        "hosts": _count(2, 65536, None, "N"),
        "size": _SIZE,
        "rate": _rate("of a host's link"),
        "alpha": _duration(0, "latency of a step; of each of the two links on the way, half of it"),
        "path_mtu": _count(256, 4096, 1024, "payload of a packet"),
        **_WINDOW,
    },
}


def formulas_of_rack() -> dict[str, str]:
    """Other names of closed forms, the ones that the other models use."""
    return {name: model.formula for name, model in rack_models().items() if name != model.formula}


def algorithms_of(family: str, model: str) -> tuple[str, ...]:
    """That the model can compute."""
    if family == "machines":
        return () if model == "packet" else tuple(MACHINE_COSTS)
    if model == "formula":
        return (*FLAT_COSTS, *formulas_of_rack())
    # The packet level runs protocols by their names.
    return tuple(name for name in rack_models() if model != "packet" or name in protocol_names())


def family_of(names: list[str]) -> str:
    """Of a list of parameters: machines if one of them exists only there."""
    only = set(FAMILIES["machines"]) - set(FAMILIES["rack"])
    return "machines" if only & set(names) else "rack"
