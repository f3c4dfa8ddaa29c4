"""`pfc`: priority-based flow control, which makes classes of traffic lossless."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from switch_nodes.lossless.watchdog import WatchdogAction
from testbed.reading.fields import LimitKey, SizeKey, SpanKey, choice, number_above_zero, whole
from testbed.reading.keytypes import At, KeyType, Plain, Refer, Refused, Told, refuse
from testbed.reading.problems import show
from testbed.reading.sections import Key, Section, read_mapping
from testbed.reading.units import UnitError, format_rate, parse_rate
from workloads.wire.dscp import LAYER_CLASSES
from workloads.wire.pfc import MAX_QUANTA, PFC_CLASSES

__all__ = ["MODELS", "Pfc", "PfcWatchdog"]

MODELS = ("static", "dynamic", "hpcc", "conweave")
_200_MS = 200_000_000


def _numbers(count: int | None, what: str) -> Plain:
    """A list of PFC classes."""

    def check(value: object) -> tuple[int, ...]:
        good = isinstance(value, list) and all(
            isinstance(item, int) and not isinstance(item, bool) and 0 <= item < PFC_CLASSES for item in value
        )
        if not good or not isinstance(value, list) or not value or (count is not None and len(value) != count):
            raise refuse("not a list of PFC classes", what)
        return tuple(value)

    number = {"type": "integer", "minimum": 0, "maximum": PFC_CLASSES - 1}
    schema: dict[str, Any] = {"type": "array", "items": number, "minItems": count or 1, "description": what}
    return Plain(check, list, schema if count is None else {**schema, "maxItems": count})


@dataclass(frozen=True, slots=True)
class _Receivers(KeyType):
    """Rates by the names of hosts."""

    def read(self, value: Any, at: At) -> tuple[tuple[str, int], ...]:
        data = read_mapping(at, value, str(at.path[-1]))
        if data is None:
            raise Told
        found = []
        for name, entry in data.items():
            try:
                rate = parse_rate(entry)
                if rate == 0:
                    raise refuse("out of range", "a rate above 0, as 50Mbps")
                found.append((name, rate))
            except UnitError as error:
                (at / name).add(error.problem, found=show(entry), allowed=error.allowed, hint=error.hint)
            except Refused as problem:
                (at / name).add(problem.problem, found=show(entry), allowed=problem.allowed, hint=problem.hint)
        return tuple(found)

    def write(self, value: tuple[tuple[str, int], ...]) -> Any:
        return {name: format_rate(rate) for name, rate in value} or None

    def schema(self, refer: Refer) -> dict[str, Any]:
        return {"type": "object", "additionalProperties": {"type": "string"}}


@dataclass(frozen=True, slots=True)
class PfcWatchdog(Section):
    """What a port does about a class that stays paused. SONiC's default is 200 ms each, for real time."""

    action: Annotated[str, choice([str(each) for each in WatchdogAction])] = "drop"
    """`drop`: the port drops the class; `forward`: it ignores PFC for the class; `alert`: it only reports"""
    detect_ns: LimitKey = _200_MS
    """time for which a class must be paused before the watchdog acts"""
    restore_ns: LimitKey = _200_MS
    """time without a PFC frame after which the class obeys PFC again"""
    poll_ns: LimitKey = _200_MS
    """how often the watchdog looks"""


@dataclass(frozen=True, slots=True)
class Pfc(Section):
    """How switches and hosts pause each other (IEEE 802.1Qbb)."""

    model: Annotated[str, choice(MODELS)] = "dynamic"
    """how the threshold of a port and class follows from the buffer: `static`, `threshold`; `dynamic`, `alpha` times
    the free shared buffer; `hpcc` and `conweave`, as in these simulators ([models](lossless.md#models))"""
    buffer_bytes: SizeKey = 4 << 20
    """packet buffer of each switch, headroom included"""
    threshold_bytes: Annotated[SizeKey | None, Key(shown="required for `static`")] = None
    """bytes of a port and class from which its neighbour is paused"""
    alpha: Annotated[float | None, number_above_zero(64), Key(shown="1; `conweave`: 0.0625")] = None
    """threshold of a port and class, as a multiple of the free shared buffer"""
    headroom_bytes: Annotated[SizeKey | None, Key(shown="exact")] = None
    """bytes of each port and lossless class for what comes after a pause was asked for. Without the key: as many as
    lose nothing; with `hpcc` and `conweave`, theirs ([headroom](lossless.md#headroom))"""
    resume_below_bytes: Annotated[SizeKey | None, Key(shown="two frames; `hpcc`: 3072")] = None
    """the neighbour goes on when so many bytes are free below the threshold"""
    response_time_ns: SpanKey = None
    """time after a PFC frame until a station begins no further frame. `auto`: the longest that the standard allows at
    the link's rate"""
    quanta: Annotated[int, whole(1, MAX_QUANTA, " (512 bit times)")] = MAX_QUANTA
    """pause time that a PFC frame asks for; half of it later the frame is sent again"""
    classes: Annotated[tuple[int, ...], _numbers(LAYER_CLASSES, "four classes from 0 to 7, as [3, 3, 3, 3]")] = (3,) * 4
    """PFC class of each layer class 0 to 3 ([priority](priority.md#the-classes)); packets without a layer class are of
    layer class 0"""
    lossless: Annotated[tuple[int, ...], _numbers(None, "classes from 0 to 7, as [3]")] = (3,)
    """PFC classes that are paused instead of dropped"""
    receivers: Annotated[tuple[tuple[str, int], ...], _Receivers(), Key(shown="none")] = ()
    """hosts that take frames at this rate only, and pause their switch: `{h2: 50Mbps}`"""
    receive_queue_bytes: SizeKey = 65_536
    """threshold of the receive queue of each host in `receivers`"""
    watchdog: PfcWatchdog | None = None
    """what switches do about a class that stays paused ([watchdog](lossless.md#watchdog))"""

    def check(self, at: At) -> None:
        if self.model == "static" and self.threshold_bytes is None:
            (at / "threshold").add("is missing", allowed="bytes for the model static, as 100kB")
        if self.model != "static" and self.threshold_bytes is not None:
            (at / "threshold").add(f"the model {self.model} has no fixed threshold", allowed="model: static")
        if self.model in ("static", "hpcc") and self.alpha is not None:
            (at / "alpha").add(f"the model {self.model} has no alpha", allowed="model: dynamic, conweave")
        unused = sorted(set(self.lossless) - set(self.classes))
        if unused:
            found, allowed = (", ".join(map(str, each)) for each in (unused, sorted(set(self.classes))))
            (at / "lossless").add("no packet is of this class", found=found, allowed=allowed)
