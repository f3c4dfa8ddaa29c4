"""What must hold between the keys of a scenario whose protocol is GRID."""

from __future__ import annotations

from collections.abc import Sequence

from testbed.reading.problems import KeyPath, Problems
from testbed.scenario.keys.job import Job
from testbed.scenario.keys.routing import Routing
from testbed.scenario.keys.switch import SwitchOptions
from topologies import Topology

__all__ = ["check_grid"]


def check_grid(
    problems: Problems,
    topology: Topology,
    switch: SwitchOptions,
    routing: Routing | None,
    job: Job,
    entries: Sequence[tuple[KeyPath, Job]] = (),
) -> None:
    """One job, one server, and routes for exactly its hosts. `entries`: of `jobs`."""
    if routing is not None and switch.commodity == "openflow":
        capacity = {each.name: routing.capacity_bps for each in topology.switches} | dict(routing.capacities)
        if all(capacity.values()):
            problems.add(
                ("switch", "commodity"), "every switch of this network aggregates", found="'openflow'",
                allowed="soft, or routing.capacities with a 0",
            )  # fmt: skip
    if entries or job.copies > 1:
        path = ("jobs",) if entries else ("job", "copies")
        problems.add(
            path, "a plan of gradient routes is for one job", found=str(len(entries) or job.copies), allowed="one"
        )
    if routing is None:
        if ("routing",) not in problems.places:
            problems.add(
                ("job", "protocol"), "nothing says where gradients go", found="grid without `routing`",
                allowed="a section, as routing: {servers: [ps], capacity: 90Mbps}",
            )  # fmt: skip
        return
    if routing.servers != (job.server,):
        problems.add(
            ("routing", "servers"), "not the job's parameter server", found=", ".join(routing.servers),
            allowed=f"{job.server} alone (job.server)",
        )  # fmt: skip
    if routing.workers and routing.workers != job.hosts:
        problems.add(
            ("routing", "workers"), "not the job's hosts", found=", ".join(routing.workers), allowed="leave the key out"
        )
    if routing.mode == "paced" and job.dtype == "float32":
        problems.add(
            ("job", "dtype"), "float32 waits for results, one window behind, and so keeps no planned rate",
            found="float32",
            allowed="int32, int32sat; or routing.mode: aimd",
        )  # fmt: skip
