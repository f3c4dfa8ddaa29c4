"""What a leaf sends up: one packet per slot, of its boundary connection, however many hosts its rack has (from
captures)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from switch_nodes.config import LeafLinks, RingConfig, SwitchConfig
from testbed.captures.capture import FileCapture
from testbed.checkers.context import Capture, CheckContext
from testbed.history.verdict import CheckResult, Verdict
from testbed.terminal.words import violations
from workloads.rc.captured import FrameRole, MalformedFrame, RoceFrame, parse_frame

__all__ = ["LeafLoad", "leaf_loads", "skip_uplinks", "uplinks"]

_SHOWN = 8


@dataclass(slots=True)
class LeafLoad:
    """What one leaf sent up for one ring."""

    leaf: str
    ring_id: int
    hosts: int
    entered: set[tuple[tuple[bytes, bytes, int], int]] = field(default_factory=set)
    """(connection, PSN) of what hosts of the rack sent"""
    up: set[tuple[tuple[bytes, bytes, int], int]] = field(default_factory=set)
    packets: int = 0
    """packets that left for a spine, repetitions included"""
    payload_bytes: int = 0
    """of them, INA headers included"""
    strangers: list[str] = field(default_factory=list)
    """data of connections that have no business there"""


def skip_uplinks(context: CheckContext) -> str | None:
    if not context.plan.racks:
        return ""
    return None if context.plan.scenario.capture else "the scenario turns the capture off (capture: false)"


def uplinks(context: CheckContext) -> CheckResult:
    try:
        loads = list(leaf_loads(context))
    except (OSError, ValueError) as error:
        return CheckResult("uplinks", Verdict.UNKNOWN, f"a capture cannot be read: {error}")
    expected = {config.name for config in context.plan.switches for _ in _leaf_rings(config)}
    if missing := expected - {load.leaf for load in loads if load.up}:
        return CheckResult("uplinks", Verdict.UNKNOWN, f"no capture shows what {', '.join(sorted(missing))} sent up")
    wrong = [f"{load.leaf} sent {what} up" for load in loads for what in load.strangers]
    for load in loads:
        if unasked := len(load.up - load.entered):
            wrong.append(f"{load.leaf} sent {unasked} packets up that its boundary host had not sent")
    if wrong:
        return CheckResult("uplinks", Verdict.FAIL, violations(wrong), tuple(wrong[:_SHOWN]))
    most = max(loads, key=lambda load: load.packets / len(load.up))
    detail = (
        f"each leaf sent one packet up per slot ({len(most.up)} of {len(most.entered)} that its hosts sent; "
        "repetitions: at most "
        f"{most.packets - len(most.up)}, {most.leaf})"
    )
    shown = tuple(
        f"{load.leaf}: {load.packets} packets, {load.payload_bytes} bytes of payload up, for {load.hosts} hosts"
        for load in loads
    )
    return CheckResult("uplinks", Verdict.PASS, detail, shown)


def leaf_loads(context: CheckContext) -> Iterator[LeafLoad]:
    """Raises OSError and ValueError for a capture that cannot be read."""
    configs = {config.name: config for config in context.plan.switches}
    for found in context.captures:
        capture = FileCapture(found) if isinstance(found, Path) else found
        config = configs.get(capture.switch)
        for ring in () if config is None else _leaf_rings(config):
            yield _load(context, capture, ring)


def _leaf_rings(config: SwitchConfig) -> list[RingConfig]:
    return [ring for ring in config.rings if isinstance(ring.links, LeafLinks)]


def _load(context: CheckContext, capture: Capture, ring: RingConfig) -> LeafLoad:
    assert isinstance(ring.links, LeafLinks)
    ports = sorted(context.plan.scenario.topology.ports(capture.switch))
    above = {link.name for port, link, _ in ports if port in ring.links.uplinks}
    local = {member.ip for member in ring.members}
    boundary = ring.members[-1].ip, ring.links.successor_ip
    own = [planned for planned in context.rings if planned.ring_id == ring.ring_id]
    requests = {planned.requests(rank) for planned in own for rank in range(len(planned.members))}
    load = LeafLoad(capture.switch, ring.ring_id, len(ring.members))
    for interface, captured in capture.read():
        frame = None if captured.comment else _data(captured.frame)
        if frame is None or frame.connection not in requests:
            continue
        key = frame.connection, frame.psn
        if not captured.outgoing and interface not in above and frame.source in local:
            load.entered.add(key)
        elif captured.outgoing and interface in above:
            load.packets += 1
            load.payload_bytes += frame.payload_bytes
            load.up.add(key)
            if frame.connection[:2] != boundary and len(load.strangers) < _SHOWN:
                load.strangers.append(f"data of a connection within the rack (PSN {frame.psn})")
    return load


def _data(raw: bytes) -> RoceFrame | None:
    try:
        frame = parse_frame(raw)
    except MalformedFrame:
        return None
    return frame if frame is not None and frame.role is FrameRole.DATA and frame.icrc_valid else None
