"""Strategies as jobs over a fabric, in virtual time."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from testbed.plan import make_plan
from testbed.reading.sections import write_section
from testbed.reading.yamlfile import parse_yaml, read_text
from testbed.runs.run import judge_scenario
from testbed.scenario import load_scenario, parse_scenario
from testbed.scenario.builtin import find_scenario
from testbed.scenario.checks.contract import ScenarioProtocol
from testbed.scenario.model import Scenario
from testbed.scenario.protocols.known import protocol_of, protocols
from testbed.sweeps.protocols import under_protocol
from workloads.collectives.kinds import sent_share
from workloads.errors import ScenarioError
from workloads.strategies import Chain
from workloads.strategies.chain import Strategy
from workloads.strategies.costs import Devices

__all__ = ["Measured", "MeasuredFabric", "devices_of", "measured", "scenario_of"]


@dataclass(frozen=True, slots=True)
class MeasuredFabric:
    """Where and how strategies run."""

    target: str
    """a scenario, by name or path; its job gives way to the strategy's"""
    overrides: tuple[str, ...]
    """`KEY=VALUE`, as of `tb run --set`"""
    protocol: str
    """protocol that sums the vectors"""
    divide: int
    devices: int | None = None
    """the first so many hosts; None: all"""


@dataclass(frozen=True, slots=True)
class Measured:
    time_s: float | None
    """time of an iteration: from the start of the traffic to the last worker's last result, over the number of
    iterations; None: not all of them ended"""
    verdict: str
    """verdict of all checks"""
    detail: str = ""
    """detail of the first check that did not pass"""

    @property
    def exit_code(self) -> int:
        return {"pass": 0, "fail": 1}.get(self.verdict, 2)


def _strategy_job(all_reduce: str) -> Mapping[str, object]:
    """Of the protocol that runs strategies. Raises ScenarioError where none does."""
    known = (each for each in protocols() if isinstance(each, ScenarioProtocol))
    for job in (each.strategy_job(all_reduce) for each in known):
        if job is not None:
            return job
    raise ScenarioError("no protocol of this installation runs strategies", file="tb strategies", key="--scenario")


def scenario_of(fabric: MeasuredFabric, chain: Chain, strategy: Strategy) -> Scenario:
    """Raises ScenarioError when the scenario cannot run strategies, or has fewer hosts than devices are asked for."""
    stages: dict[str, Any] = {
        "operators": [write_section(operator) for operator in chain.operators],
        "strategy": ",".join(strategy),
        "divide": fabric.divide,
    }
    protocol = protocol_of(fabric.protocol)
    if protocol.as_stage():
        job = {**_strategy_job(fabric.protocol), **stages}
    else:  # Exponents of floats would hold the end of a stage back.
        job = {"protocol": fabric.protocol, "dtype": "int32", "stages": stages}
    fixed = ["capture=false", f"switch.program={protocol.programs[0]}"]

    path, shown = find_scenario(fabric.target)
    load_scenario(fabric.target)  # what is wrong with the file itself is told with its lines
    data = under_protocol(parse_yaml(read_text(path, shown), shown)[0], str(job["protocol"]))

    def load() -> Scenario:
        text = json.dumps({**data, "job": job})
        return parse_scenario(text, shown, [*fixed, *fabric.overrides], world="simulated", folder=path.parent)

    scenario = load()
    hosts = [host.name for host in scenario.ranks]
    if fabric.devices is None or fabric.devices == len(hosts):
        return scenario
    if fabric.devices > len(hosts):
        raise ScenarioError(
            "more devices than hosts", file="tb strategies", key="--devices", found=str(fabric.devices),
            allowed=f"at most {len(hosts)}, or more topology.hosts (--set)",
        )  # fmt: skip
    job["hosts"] = hosts[: fabric.devices]
    return load()


def devices_of(fabric: MeasuredFabric, chain: Chain) -> Devices:
    """The input of the cost model for this fabric. It has the payload that framing leaves of the slowest link of a
    device, `divide` times as fast, since vectors are so much smaller. It also has what the all-reduce sends."""
    scenario = scenario_of(fabric, chain, ("DP",) * len(chain.operators))
    framing = make_plan(scenario).workers[0].framing
    rate_bps = min(
        link.shape.rate_bps for host in scenario.ranks for _, link, _ in scenario.topology.ports(host.name)
    )  # fmt: skip
    count = len(scenario.ranks)
    bytes_per_s = rate_bps / 8 * framing.payload_bytes / framing.frame_bytes * fabric.divide
    return Devices(count, bytes_per_s, sent_share(fabric.protocol, count))


def measured(fabric: MeasuredFabric, chain: Chain, strategy: Strategy) -> Measured:
    """One strategy. Raises as `load_scenario` does."""
    scenario = scenario_of(fabric, chain, strategy)
    document = judge_scenario(scenario, "")
    took = document["metrics"]["jct_s"]
    wrong = next((check for check in document["checks"] if check["verdict"] != "pass"), None)
    return Measured(
        None if took is None else took / scenario.job.iterations,
        document["verdict"],
        f"{wrong['name']}: {wrong['detail']}" if wrong else "",
    )
