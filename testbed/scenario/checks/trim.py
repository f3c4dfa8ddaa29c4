"""What trimming asks of the rest of a scenario: workers whose packets can be cut, and who understand what is left."""

from __future__ import annotations

from switch_nodes.kinds import program_kinds
from testbed.reading.problems import KeyPath, Problems
from testbed.scenario.keys.job import Job
from testbed.scenario.keys.switch import SwitchOptions
from testbed.scenario.protocols.known import names_where, protocol_of
from topologies import LinkShape, Topology

__all__ = ["check_trim"]


def check_trim(
    problems: Problems,
    topology: Topology,
    shape: LinkShape,
    job: Job,
    switch: SwitchOptions,
    nics: tuple[tuple[str, str], ...],
) -> None:
    """`nics`: (host, device) of hosts on devices."""
    path = _where(topology, shape)
    if path is None:
        return
    kind = program_kinds().get(switch.program)
    if not protocol_of(job.protocol).repairs_losses():
        problem = f"protocol {job.protocol} sends datagrams, which keep timers of their own and are never trimmed"
        reliable = ", ".join(names_where(lambda each: each.repairs_losses()))
        problems.add(path, problem, found="'trim'", allowed=f"drop; or job.protocol: {reliable}")
    elif nics:
        host, device = nics[0]
        problem = f"host {host} is on device {device}, which takes a trimmed packet for a damaged one"
        problems.add(path, problem, found="'trim'", allowed=f"drop; or nics.{host}: soft")
    elif kind is not None and kind.is_card:
        problem = "a card with a register map before 1.2 takes a trimmed packet for a damaged one"
        problems.add(path, problem, found="'trim'", allowed="drop; or switch.program: netreduce")


def _where(topology: Topology, shape: LinkShape) -> KeyPath | None:
    """The first key that asks for it."""
    if shape.trims and any(link.shape.trims for link in topology.links):
        return ("topology", "link", "queue_full")
    for index, link in enumerate(topology.links):
        if link.shape.trims:
            return ("topology", "links", index if topology.kind == "custom" else link.name, "queue_full")
    return None
