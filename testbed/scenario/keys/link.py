"""The keys of a link: its shape, and what is different on some links. The value is `topologies.LinkShape`."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

from switch_nodes.forwarding.weighted import STRICT
from testbed.reading.changes import changes_of
from testbed.reading.fields import BandwidthKey, DurationKey, ProbabilityKey, choice, whole, whole_or
from testbed.reading.keytypes import At, Plain, refuse
from testbed.reading.sections import Key, SectionType, declare_keys
from testbed.reading.units import format_duration
from topologies import LinkShape, RedShape
from workloads.wire.dscp import LAYER_CLASSES

__all__ = ["LinkChanges", "LinkChangesKey", "LinkKey", "check_shape", "only_virtual"]

_WAITING = " (packets)"
_STRICT = "strict"


def _weights() -> Plain:
    """A list of weights, one for each layer class."""
    allowed = f"{LAYER_CLASSES} entries, each {_STRICT} or a whole number from 1 to 100, as [{_STRICT}, 50, 30, 20]"

    def check(value: object) -> tuple[int, ...]:
        if not isinstance(value, list) or len(value) != LAYER_CLASSES:
            raise refuse("not a list of weights", allowed)
        if not all(each == _STRICT or (type(each) is int and 1 <= each <= 100) for each in value):
            raise refuse("not a weight", allowed)
        return tuple(STRICT if each == _STRICT else each for each in value)

    def write(value: tuple[int, ...] | None) -> list[int | str] | None:
        return None if value is None else [each or _STRICT for each in value]

    entry = {"anyOf": [{"const": _STRICT}, {"type": "integer", "minimum": 1, "maximum": 100}]}
    schema = {"type": "array", "items": entry, "minItems": LAYER_CLASSES, "maxItems": LAYER_CLASSES}
    return Plain(check, write, schema)


declare_keys(
    RedShape,
    min_packets=(Annotated[int, whole(0, 999_999, _WAITING), Key("min")], "K_min: fewer waiting packets mark none"),
    max_packets=(Annotated[int, whole(1, 1_000_000, _WAITING), Key("max")], "K_max: as many waiting packets mark all"),
    share=(ProbabilityKey, "P_max: share of packets that are marked just below K_max"),
)
declare_keys(
    LinkShape,
    rate_bps=(BandwidthKey, "of Ethernet frames (14-byte header included; preamble, gap and FCS not)"),
    delay_ns=(DurationKey, "each way"),
    jitter_ns=(DurationKey, "uniform around the delay, at most the delay; never reorders"),
    mtu=(
        Annotated[int, whole(256, 9000, " (bytes of the largest IP packet)"), Key(title="MTU (B)")],
        "largest IP packet, 256 to 9000. It must hold one packet of `transport.path_mtu` with all headers",
    ),
    queue_packets=(
        Annotated[int, whole(1, 1_000_000, " (packets)"), Key("queue")],
        "packets, drop-tail, each direction",
    ),
    ecn_threshold_packets=(
        Annotated[int | None, whole_or("none", None, 1, 999_999, " (packets)"), Key("ecn_threshold")],
        (
            "packets, less than `queue`: a frame that is put into the queue while at least that many wait gets CE "
            "([simulation](simulation.md#ecn-threshold)). What that means in each world: "
            "[congestion](congestion.md#marking)"
        ),
    ),
    queue_full=(
        Annotated[str, choice(("drop", "trim"))],
        (
            "what a switch does with a frame that finds the queue full: `drop` or `trim`. `trim` cuts RoCE data to its "
            "headers, so that the receiver asks for it at once ([trimming](trimming.md))"
        ),
    ),
    priority=(
        Annotated[str, choice(("none", "layers", "weighted", "fair"))],
        (
            "the order in which a switch serves waiting frames: `none`, as they came; `layers`, strictly by the layer "
            "class in DSCP. In virtual time also `weighted`, by `weights`, and `fair`, each flow in turn. Each class "
            "or flow then has its own queue of `queue` packets ([priority](priority.md))"
        ),
    ),
    drop_low_above_packets=(
        Annotated[int | None, whole_or("none", None, 1, 999_999, " (packets)"), Key("drop_low_above")],
        (
            "packets, less than `queue`: if at least this many wait, a switch drops a frame whose DSCP is of the low "
            "class ([priority](priority.md))"
        ),
    ),
    red=(
        Annotated[RedShape | None, SectionType(RedShape, "the {}"), Key(shown="none")],
        (
            "in place of `ecn_threshold`, in virtual time: `{min: 5, max: 200, share: 1%}`. The probability of a "
            "mark rises from 0 at `min` waiting packets to `share` just below `max`. It is 1 from `max` on"
        ),
    ),
    weights=(
        Annotated[tuple[int, ...] | None, _weights(), Key(shown="none")],
        (
            "with `priority: weighted`, the weight of each layer class 0 to 3, as `[strict, 50, 30, 20]`. Strict "
            "classes go first; the others share the rest by weight ([priority](priority.md#what-a-switch-does))"
        ),
    ),
)

LinkChanges = changes_of(LinkShape, "LinkChanges")
"""what is different on some links"""
LinkKey: TypeAlias = Annotated[LinkShape, SectionType(LinkShape, "the {}")]
LinkChangesKey: TypeAlias = Annotated[Any, SectionType(LinkChanges, "the {}")]


def only_virtual(shape: LinkShape) -> bool:
    """Whether only the simulated world has such queues."""
    return shape.red is not None or shape.priority in ("weighted", "fair")


def check_shape(at: At, shape: LinkShape) -> bool:
    """Whether the figures of a link fit together. Adds a problem if not."""
    if shape.jitter_ns > shape.delay_ns:
        found = f"delay {format_duration(shape.delay_ns)}, jitter {format_duration(shape.jitter_ns)}"
        (at / "jitter").add("jitter exceeds the delay", found=found, allowed="0 to the delay")
        return False
    if (shape.weights is None) == (shape.priority == "weighted"):
        if shape.weights is None:
            (at / "weights").add("is missing", allowed="with priority: weighted, as [strict, 50, 30, 20]")
        else:
            (at / "weights").add(
                "classes have no weights", found=f"priority {shape.priority}", allowed="priority: weighted"
            )
        return False
    red = shape.red
    if red is not None and not red.min_packets < red.max_packets <= shape.queue_packets:
        found = f"min {red.min_packets}, max {red.max_packets}, queue {shape.queue_packets}"
        (at / "red").add("the probability has no room to rise", found=found, allowed="min below max, max up to queue")
        return False
    if red is not None and shape.ecn_threshold_packets is not None:
        (at / "red").add("cannot be combined with ecn_threshold", allowed="one of red, ecn_threshold")
        return False
    for key, threshold, problem in (
        ("ecn_threshold", shape.ecn_threshold_packets, "the queue drops before it marks"),
        ("drop_low_above", shape.drop_low_above_packets, "the queue is full before it drops the low class alone"),
    ):
        if threshold is not None and threshold >= shape.queue_packets:
            found = f"queue {shape.queue_packets}, {key} {threshold}"
            (at / key).add(problem, found=found, allowed="less than the queue")
            return False
    return True
