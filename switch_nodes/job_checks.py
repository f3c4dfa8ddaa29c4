"""What every program that serves `SwitchConfig.jobs` asks of them."""

from __future__ import annotations

from collections.abc import Sequence

from switch_nodes.config import SwitchConfig
from switch_nodes.jobs import JobConfig, TreeLinks
from workloads.datagrams.problems import MAX_WORKERS
from workloads.errors import ScenarioError
from workloads.wire.aggregation import MAX_ELEMENTS

__all__ = ["check_job", "check_tree", "job_refused"]


def job_refused(switch: SwitchConfig, job: JobConfig, problem: str, found: object, allowed: str) -> ScenarioError:
    number = next(number for number, each in enumerate(switch.jobs) if each is job)
    problem = f"switch {switch.name}: job {job.job}: {problem}"
    return ScenarioError(problem, key=f"jobs[{number}]", found=str(found), allowed=allowed)


def check_job(
    switch: SwitchConfig,
    number: int,
    dtypes: Sequence[str],
    most_elements: int = MAX_ELEMENTS,
    most_workers: int = MAX_WORKERS,
) -> None:
    """Job `number` of the switch, except its part of the memory. Raises ScenarioError when it cannot be served."""
    config = switch.jobs[number]
    members = config.members

    def refuse(problem: str, found: object, allowed: str) -> ScenarioError:
        return job_refused(switch, config, problem, found, allowed)

    if not 1 <= config.job < 1 << 16:
        raise refuse("job id", config.job, "1 .. 65535")
    if config.job in {other.job for other in switch.jobs[:number]}:
        raise refuse("two jobs with one id", config.job, "an id of its own")
    if not 1 <= len(members) <= most_workers:
        raise refuse("number of workers", len(members), f"1 .. {most_workers}, what bitmaps can name")
    if [member.rank for member in members] != list(range(len(members))):
        raise refuse("members are not in rank order", [member.rank for member in members], "0, 1, 2, ...")
    if len({member.ip for member in members}) != len(members):
        raise refuse("two members have the same address", [member.ip.hex() for member in members], "one each")
    for member in members:
        if not 0 <= member.port < switch.ports:
            raise refuse(f"port of rank {member.rank}", member.port, f"0 .. {switch.ports - 1}")
    if not 2 <= config.elements <= most_elements:
        raise refuse("elements of a block", config.elements, f"2 .. {most_elements}")
    if config.arithmetic.op != "sum" or config.arithmetic.dtype not in dtypes:
        found, allowed = f"{config.arithmetic.op} of {config.arithmetic.dtype}", ", ".join(dtypes[:-1])
        raise refuse("arithmetic", found, f"sum of {allowed} or {dtypes[-1]}")


def check_tree(switch: SwitchConfig, config: JobConfig, tree: TreeLinks, members: int) -> None:
    """The switch's place in a tree of a job of the switch, below which are some of `members` ranks. Raises
    ScenarioError when it cannot be one."""
    ports = [tree.up, *(child.port for child in tree.children)]
    if len(set(ports)) != len(ports) or not set(ports) <= set(range(switch.ports)):
        raise job_refused(switch, config, "ports of the tree", str(ports), f"different ones of 0 .. {switch.ports - 1}")
    if not tree.children or not _apart([child.ranks for child in tree.children], members):
        found = ", ".join(f"{child.ranks:#x}" for child in tree.children) or "nobody"
        raise job_refused(switch, config, "ranks below", found, "somebody, and each rank behind one port")


def _apart(bitmaps: Sequence[int], members: int) -> bool:
    seen = 0
    for bitmap in bitmaps:
        if not bitmap or bitmap & seen or bitmap >> members:
            return False
        seen |= bitmap
    return True
