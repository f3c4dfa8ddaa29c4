"""What must hold between the keys of a scenario whose job is RDMA flows."""

from __future__ import annotations

from collections.abc import Callable

from testbed.reading.known import NotKnown
from testbed.reading.units import format_duration
from testbed.scenario.checks.sections import KnownSections
from topologies import attachment

__all__ = ["check_flows"]


def check_flows(sections: KnownSections) -> None:
    """All problems."""
    for check in (_check_world, _check_job, _check_transport, _check_topology):
        _as_far_as_known(check, sections)


def _as_far_as_known(check: Callable[[KnownSections], None], sections: KnownSections) -> None:
    try:
        check(sections)
    except NotKnown:
        return


def _check_world(sections: KnownSections) -> None:
    if sections.maybe_world not in (None, "simulated"):
        allowed = "world: simulated (or --world simulated)"
        sections.problems.add(
            ("job", "protocol"), "flows run in virtual time alone", found=f"world {sections.maybe_world}",
            allowed=allowed,
        )  # fmt: skip


def _check_job(sections: KnownSections) -> None:
    job = sections.job
    for key, found, plain in (
        ("iterations", job.iterations, 1), ("workload", job.workload, "synthetic"), ("straggler", job.straggler, None),
    ):  # fmt: skip
        if found != plain:
            shown = "a straggler" if key == "straggler" else str(found)
            sections.problems.add(("job", key), "flows have no such thing", found=shown, allowed="omit the key")


def _check_transport(sections: KnownSections) -> None:
    transport = sections.transport
    if transport.verb != "write":
        sections.problems.add(("transport", "verb"), "a flow is one WRITE", found="'send'", allowed="write")
    if transport.receive_late_ns:
        found = format_duration(transport.receive_late_ns)
        sections.problems.add(("transport", "receive_late"), "receives of flows wait from the start", found=found,
                              allowed="0")  # fmt: skip
    for host, device in sections.nics:
        sections.problems.add(
            ("nics", host), "a host has a queue pair for each flow, and one on a device has those of a ring",
            found=f"verbs:{device}", allowed="soft",
        )  # fmt: skip


def _check_topology(sections: KnownSections) -> None:
    topology = sections.topology
    if attachment(topology) is not None:
        sections.problems.add(
            ("job", "protocol"), "flows know no accelerator", found=f"the {topology.kind} topology",
            allowed="any other one",
        )  # fmt: skip
