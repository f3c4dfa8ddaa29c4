"""Explorations for tests, each in a process with the Python source of all modules: `interpreted` calls a function of
this module there and returns what it returns."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

from tests.support.floors import ROOT

__all__ = ["interpreted"]

_LIMIT_S = 600


def interpreted(function: str, *arguments: Any) -> Any:
    """What a function of this module returns, as JSON has it."""
    call = f"cases.{function}(*json.loads(sys.argv[1]))"
    code = f"import json, sys; from tests.support import states_cases as cases; print(json.dumps({call}))"
    done = subprocess.run(
        [sys.executable, "-P", "-c", code, json.dumps(arguments)],
        env=os.environ | {"INA_NATIVE": "0", "PYTHONPATH": str(ROOT)},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=_LIMIT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def _prepared(protocol: str, size: Sequence[int], overrides: Sequence[str]) -> Any:
    from testbed.hunt.contract import whole_protocol
    from testbed.plan import make_plan
    from testbed.states.configuration import keys_in_size, small_scenario
    from testbed.states.contract import SmallSize

    explored = whole_protocol(protocol).states()
    assert explored is not None
    scenario = small_scenario(explored.scenario, keys_in_size(explored, SmallSize(*size)), overrides)
    return explored, scenario, make_plan(scenario)


def counted(
    protocol: str, size: Sequence[int], faults: int, overrides: Sequence[str] = (), full: bool = False
) -> dict[str, Any]:
    """Counts of one exploration."""
    from testbed.states.forgotten import Forgotten
    from testbed.states.judge import Judge
    from testbed.states.network import make_network
    from testbed.states.search import Bounds, Search

    explored, _, plan = _prepared(protocol, size, overrides)
    search = Search(make_network(plan, Forgotten(explored)), Judge(plan), Bounds(faults, full=full))
    search.run()
    return {
        "states": search.states, "transitions": search.transitions, "ends": search.ends, "limit": search.limit,
        "by_faults": search.by_faults, "local": search.local_states,
        "violations": [(each.check, each.faults, each.steps) for each in search.violations],
    }  # fmt: skip


def compared(protocol: str, size: Sequence[int], faults: int, overrides: Sequence[str] = ()) -> dict[str, Any]:
    """Steps taken from several ways to the same state, and their differences."""
    from testbed.states.forgotten import Forgotten
    from testbed.states.judge import Judge
    from testbed.states.network import make_network
    from testbed.states.search import Bounds, Search
    from tests.support.states_checked import CheckedStation

    explored, _, plan = _prepared(protocol, size, overrides)
    network = make_network(plan, Forgotten(explored), station=CheckedStation)
    search = Search(network, Judge(plan), Bounds(faults, most_states=200_000))
    search.run()
    stations: Any = network.stations
    return {
        "compared": {station.name: station.compared for station in stations},
        "differences": [each for station in stations for each in station.differences],
    }


def _broken(protocol: str) -> dict[str, Any]:
    """Planted bugs by name."""
    from tests.support.datagram_planted import DATAGRAM_FURTHER, DATAGRAM_PLANTED
    from tests.support.hunt_mutants import IRN_PLANTED, PLANTED

    if protocol == "netreduce":
        return {**PLANTED, **IRN_PLANTED}
    return {**DATAGRAM_PLANTED[protocol], **DATAGRAM_FURTHER[protocol]}


def planted(
    protocol: str, size: Sequence[int], faults: int, overrides: Sequence[str], names: Sequence[str], replay: bool
) -> dict[str, Any]:
    """By name of a planted bug: [check, faults, steps, check that the replay fails], or None if it is not found."""
    from testbed.states.forgotten import Forgotten
    from testbed.states.judge import Judge
    from testbed.states.network import make_network
    from testbed.states.replay import replay_of
    from testbed.states.search import Bounds, Search
    from testbed.states.trace import trace_of

    explored, scenario, plan = _prepared(protocol, size, overrides)
    broken = _broken(protocol)
    found: dict[str, Any] = {}
    for name in names:
        machines = broken[name]
        network = make_network(plan, Forgotten(explored), machines.create, machines.employ)
        search = Search(network, Judge(plan), Bounds(faults))
        search.run()
        found[name] = None
        for violation in search.violations:
            trace = trace_of(search, violation)
            again = replay_of(scenario, trace, machines.create, machines.employ) if replay else None
            faults_in_trace = sum(moment.is_fault for moment in trace)
            assert faults_in_trace == violation.faults
            found[name] = violation.check, violation.faults, violation.steps, again.fails if again else ""
    return found


_SMALL = """
name: stalled
seed: {seed}
topology: {{{topology}, link: {{rate: 20Mbps}}}}
switch: {{program: {protocol}{memory}}}
job: {{protocol: {protocol}, size: 8kB, dtype: int32, iterations: 1{window}}}
faults:
  - {{kind: loss, name: loss, links: all, direction: both, rate: 10%}}
{faults}
time_limit: 500ms
"""


def explained_all(protocol: str, cases: Sequence[tuple[int, Sequence[str]]]) -> list[dict[str, Any]]:
    """As `explained`, for each (seed, further faults)."""
    return [explained(protocol, faults, "", seed) for seed, faults in cases]


def explained(
    protocol: str, faults: Sequence[str], broken: str, seed: int = 1, topology: str = "kind: rack, hosts: 3"
) -> dict[str, Any]:
    """The explanation of a small job with losses and further faults; `broken`: a planted bug, or empty."""
    from testbed.explain.explanation import explain
    from testbed.explain.text import explanation_document, explanation_text
    from testbed.hunt.contract import whole_protocol
    from testbed.scenario import parse_scenario

    in_messages = protocol == "netreduce"
    text = _SMALL.format(
        protocol=protocol,
        topology=topology,
        seed=seed,
        memory="" if in_messages else ", memory: 8",
        window=", message_packets: 2" if in_messages else ", window_packets: 4",
        faults="".join(f"  - {fault}\n" for fault in faults),
    )
    scenario = parse_scenario(text, "stalled.yaml", world="simulated")
    waits = whole_protocol(protocol).waits
    if broken:
        machines = _broken(protocol)[broken]
        found = explain(scenario, waits, machines.create, machines.employ)
    else:
        found = explain(scenario, waits)
    assert explanation_text(found, len(scenario.faults), None).endswith("\n")
    return explanation_document(found, len(scenario.faults), None)
