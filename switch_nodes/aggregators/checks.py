"""Jobs and knobs that an aggregator program cannot serve are refused."""

from __future__ import annotations

from switch_nodes.config import SwitchConfig
from switch_nodes.job_checks import check_job, job_refused
from switch_nodes.jobs import AggregatorKnobs, JobConfig
from workloads.datagrams.problems import MAX_INDICES, MAX_WORKERS, MAX_WORKERS_IN_RACKS, problems_in_racks
from workloads.errors import ScenarioError

__all__ = ["AGES", "FREES", "check_aggregator_jobs", "check_knobs"]

AGES, FREES = ("none", "minus1", "shift1"), ("early", "ack")
_DTYPES = ("float32", "int32", "int32sat")


def check_knobs(name: str, knobs: AggregatorKnobs) -> None:
    """Raises ScenarioError. `name`: of the switch."""
    for knob, allowed in (("age", AGES), ("free", FREES)):
        found = getattr(knobs, knob)
        if found not in allowed:
            raise ScenarioError(f"switch {name}: knob {knob}", found=repr(found), allowed=", ".join(allowed))


def check_aggregator_jobs(switch: SwitchConfig) -> None:
    """Raises ScenarioError for jobs that cannot be served. They may share their slots."""
    if switch.jobs and not 1 <= switch.memory <= MAX_INDICES:
        problem = f"switch {switch.name}: values of memory"
        raise ScenarioError(problem, found=str(switch.memory), allowed=f"1 .. {MAX_INDICES}, one for each slot index")
    for number, config in enumerate(switch.jobs):
        check_job(switch, number, _DTYPES, most_workers=MAX_WORKERS_IN_RACKS)
        last = config.first_slot + config.slots - 1
        if config.slots < 1 or config.first_slot < 0 or last >= switch.memory:
            found, allowed = f"{config.first_slot} .. {last}", f"1 or more, within 0 .. {switch.memory - 1}"
            raise job_refused(switch, config, "slot indices", found, allowed)
        if not 1 <= config.window <= MAX_INDICES:
            raise job_refused(switch, config, "window", config.window, f"1 .. {MAX_INDICES} packets")
        _check_server(switch, config)
        if config.levels is not None:
            _check_levels(switch, config)
        if len(config.members) > MAX_WORKERS:
            racks = () if config.levels is None else config.levels.racks
            for problem in problems_in_racks(racks, len(config.members)):
                raise job_refused(switch, config, "ranks by rack", f"{len(racks)} racks", problem)


def _check_server(switch: SwitchConfig, config: JobConfig) -> None:
    server = config.server
    if server is None:
        raise job_refused(switch, config, "it has no parameter server", "none", "a host of the topology")
    if not 0 <= server.port < switch.ports:
        raise job_refused(switch, config, "port of the server", server.port, f"0 .. {switch.ports - 1}")
    if server.ip in {member.ip for member in config.members}:
        raise job_refused(switch, config, "the server is a worker, too", server.ip.hex(), "a host of its own")


def _check_levels(switch: SwitchConfig, config: JobConfig) -> None:
    levels = config.levels
    assert levels is not None
    ranks = sorted(rank for rack in levels.racks for rank in rack)
    if ranks != list(range(len(config.members))) or not all(levels.racks):
        raise job_refused(switch, config, "ranks by rack", list(levels.racks), "each rank in one rack, none empty")
    if levels.own is not None and not 0 <= levels.own < len(levels.racks):
        raise job_refused(switch, config, "its own rack", levels.own, f"0 .. {len(levels.racks) - 1}, or none")
    if levels.own is None and not levels.collects and not config.trees:
        raise job_refused(switch, config, "neither workers nor the server are here", "no role", "not to tell it")
