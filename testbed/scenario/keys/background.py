"""`background`: the traffic of other tenants."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from testbed.reading.fields import BandwidthKey, BoolKey, DurationKey, SizeKey, TextKey, WordKey, choice, whole
from testbed.reading.keytypes import At, KeyType, Refer, Told
from testbed.reading.problems import closest, show
from testbed.reading.sections import Key, Section, as_far_as_known, read_section, write_section
from testbed.reading.units import format_duration
from testbed.scenario.protocols import names
from topologies import Topology
from workloads.wire.envelope import IPV4, UDP

__all__ = ["BackgroundFlow", "FlowsType", "check_background", "check_payloads"]

_UDP_HEADERS = IPV4.size + UDP.size
"""IPv4 and UDP, bytes"""


@dataclass(frozen=True, slots=True)
class BackgroundFlow(Section):
    """Traffic of another tenant, from host to host."""

    name: Annotated[WordKey, Key(filled=True, shown="kind and number")]
    """in the report"""
    kind: Annotated[str, choice(names.BACKGROUND_KINDS)]
    """`udp`: constant rate, both worlds. `tcp`: the kernel's, by iperf3, emulated world only"""
    source: Annotated[TextKey, Key("from")]
    """host that sends"""
    target: Annotated[TextKey, Key("to")]
    """host that receives"""
    rate_bps: Annotated[BandwidthKey | None, Key(shown="required for `udp`")] = None
    """`udp`: of Ethernet frames; `tcp`: of payload, without it as fast as TCP can"""
    start_ns: DurationKey = 0
    """since the start of the traffic"""
    stop_ns: Annotated[DurationKey | None, Key(shown="the end of the run")] = None
    """since the start of the traffic"""
    size_bytes: SizeKey | None = None
    """payload at most"""
    payload_bytes: Annotated[int, whole(18, 8900, " (bytes of a datagram)"), Key("payload")] = 1000
    """`udp`: bytes of a datagram, which must fit the smallest MTU"""
    ecn: BoolKey = False
    """`udp`: packets are ECN-capable and get marked"""
    dscp: Annotated[int, whole(0, 63, " (DSCP)")] = 0
    """`udp`: of its packets; 8 to 15 are classes of queues ([priority](priority.md))"""

    def check(self, at: At) -> None:
        if self.kind == "udp" and self.rate_bps is None:
            (at / "rate").add("is missing", allowed="of the UDP flow's Ethernet frames, as 20Mbps")
        if self.stop_ns is not None and self.stop_ns <= self.start_ns:
            found = f"start {format_duration(self.start_ns)}, stop {format_duration(self.stop_ns)}"
            (at / "stop").add("it ends before it begins", found=found, allowed="a time after start")

    def left_out(self) -> Collection[str]:
        return ("payload_bytes", "ecn", "dscp") if self.kind == "tcp" else ()


@dataclass(frozen=True, slots=True)
class FlowsType(KeyType):
    """A list of flows, each with a name of its own."""

    def read(self, value: Any, at: At) -> tuple[BackgroundFlow, ...]:
        """Return the flows that are mappings, and report the problems of all entries."""
        if not isinstance(value, list):
            at.add("not a list", found=show(value), allowed="one flow per `- kind: ...`")
            raise Told
        found = [(index, entry, self._flow(at / index, entry, index)) for index, entry in enumerate(value)]
        taken = set[str]()
        for index, entry, flow in found:
            with as_far_as_known():
                if flow is not None and flow.name in taken:
                    allowed = "a name of its own"
                    (at / index / "name").add("two flows of one name", found=f"'{flow.name}'", allowed=allowed)
                if flow is not None:
                    taken.add(flow.name)
            with as_far_as_known():
                if flow is not None and flow.kind == "tcp":
                    for key in sorted({"payload", "ecn", "dscp"} & set(entry)):
                        (at / index / key).add("only UDP has it", allowed="leave the key out")
        return tuple(flow for _, _, flow in found if flow is not None)

    def _flow(self, at: At, entry: Any, index: int) -> BackgroundFlow | None:
        kind = entry.get("kind") if isinstance(entry, dict) else None
        return read_section(at, entry, BackgroundFlow, "the flow", {"name": f"{kind}-{index + 1}"})

    def write(self, value: Sequence[BackgroundFlow]) -> Any:
        return [write_section(flow) for flow in value] or None

    def schema(self, refer: Refer) -> dict[str, Any]:
        return {"type": "array", "items": refer(BackgroundFlow)}

    def sections(self) -> tuple[type, ...]:
        return (BackgroundFlow,)


def check_background(at: At, flows: Sequence[BackgroundFlow], world: str | None, topology: Topology | None) -> None:
    """What flows need of the world and of the network."""
    for index, flow in enumerate(flows):
        with as_far_as_known():
            if flow.kind == "tcp" and world == "simulated":
                (at / index / "kind").add(
                    "TCP runs in the emulated world only: the simulated one has no model of the kernel's",
                    found="world simulated", allowed="kind: udp, or world: emulated",
                )  # fmt: skip
        if topology is not None:
            _check_ends(at / index, flow, topology)


def _check_ends(at: At, flow: BackgroundFlow, topology: Topology) -> None:
    hosts = [host.name for host in topology.hosts]
    for key, field in (("from", "source"), ("to", "target")):
        with as_far_as_known():
            name = getattr(flow, field)
            if name not in hosts:
                (at / key).add("no such host", found=show(name), allowed=", ".join(hosts), hint=closest(name, hosts))
    with as_far_as_known():
        if flow.source == flow.target:
            (at / "to").add("a flow from a host to itself crosses no link", found=show(flow.target))


def check_payloads(at: At, flows: Sequence[BackgroundFlow], topology: Topology) -> None:
    """Nothing is fragmented."""
    least = min(link.shape.mtu for link in topology.links)
    for index, flow in enumerate(flows):
        with as_far_as_known():
            if flow.kind == "udp" and flow.payload_bytes + _UDP_HEADERS > least:
                (at / index / "payload").add(
                    "the datagram does not fit the smallest MTU", found=str(flow.payload_bytes),
                    allowed=f"at most {least - _UDP_HEADERS} (MTU {least}, {_UDP_HEADERS} bytes of IPv4 and UDP "
                            "headers)",
                )  # fmt: skip
