"""Jobs of several protocols on one network: what each protocol's checkers are given, and how their findings become
one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from switch_nodes.program_events import PROGRAM_EVENTS
from testbed.captures.capture import FileCapture
from testbed.captures.pcapng import CapturedFrame
from testbed.checkers.context import Capture, CheckContext
from testbed.history import Record
from testbed.history.verdict import CheckResult, merge
from testbed.plan import Plan
from workloads.wire.places import DST_IP, ETHERTYPE, IS_IPV4, SRC_IP

__all__ = ["merged", "parts_of"]


def parts_of(context: CheckContext) -> Mapping[str, CheckContext]:
    """The part of each protocol, by its name and in the order of the scenario.

    A part has its plan, the reports of its own hosts, and what passed between them. Reports of a switch program belong
    to the jobs that it serves, which are those of the first protocol. A run of one protocol is its only part.
    """
    plan = context.plan
    if not plan.beside:
        return {plan.scenario.job.protocol: context}
    counts, names = Counter[str](), []
    for part in plan.parts:
        name = part.scenario.job.protocol
        counts[name] += 1
        names.append(name if counts[name] == 1 else f"{name} {counts[name]}")
    return {
        name: CheckContext(part, _told(context.history, plan, part, place), _seen(context.captures, plan, part))
        for place, (name, part) in enumerate(zip(names, plan.parts, strict=True))
    }


def _told(history: Iterable[Record], plan: Plan, part: Plan, place: int) -> Sequence[Record]:
    foreign = {host.name for host in plan.hosts} - {host.name for host in part.hosts}
    switches = {switch.name for switch in plan.switches} if place else frozenset[str]()
    return [
        record
        for record in history
        if record.node not in foreign and not (record.node in switches and type(record.event) in PROGRAM_EVENTS)
    ]


def _seen(captures: Iterable[Path | Capture], plan: Plan, part: Plan) -> tuple[Capture, ...]:
    own = {host.name for host in part.hosts}
    foreign = frozenset(plan.scenario.topology.node(host.name).ip for host in plan.hosts if host.name not in own)
    return tuple(_PartCapture(FileCapture(found) if isinstance(found, Path) else found, foreign) for found in captures)


@dataclass(frozen=True, slots=True)
class _PartCapture:
    """A capture without what hosts of other protocols sent or were sent."""

    whole: Capture
    foreign: frozenset[bytes]
    """addresses"""

    @property
    def name(self) -> str:
        return self.whole.name

    @property
    def switch(self) -> str:
        return self.whole.switch

    def read(self) -> Iterator[tuple[str, CapturedFrame]]:
        for interface, frame in self.whole.read():
            data = frame.frame
            is_ip = data[ETHERTYPE] == IS_IPV4
            if not (is_ip and (data[SRC_IP] in self.foreign or data[DST_IP] in self.foreign)):
                yield interface, frame


def merged(found: Mapping[str, CheckResult]) -> CheckResult:
    """Of one check the findings by protocol, one at least."""
    first, *others = found.values()
    if not others:
        (name,) = found
        return CheckResult(first.name, first.verdict, f"{name}: {first.detail}", first.evidence)
    return CheckResult(
        first.name,
        merge(result.verdict for result in found.values()),
        "; ".join(f"{name}: {result.detail}" for name, result in found.items()),
        tuple(f"{name}: {line}" for name, result in found.items() for line in result.evidence),
    )
