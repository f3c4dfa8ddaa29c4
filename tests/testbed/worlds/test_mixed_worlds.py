"""Jobs of several collectives on one network, from file to verdict, in both worlds."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from testbed.runs.run import run_scenario
from testbed.scenario import load_scenario
from tests.support.passing import assert_passes
from tests.support.selection import in_both_worlds

_SUMMED = {
    "netreduce": ("netreduce", {}, {}),
    "switchml": ("switchml", {"dtype": "int32"}, {}),
    "switchml over UC": ("switchml", {"dtype": "int32"}, {"framing": "uc"}),
    "atp": ("atp", {"hosts": ["h1", "h2"], "server": "h3"}, {}),
    "esa": ("esa", {"hosts": ["h1", "h2"], "server": "h3"}, {}),
    "ps": ("ps", {"hosts": ["h1", "h2"], "server": "h3"}, {}),
    "dlcp": ("dlcp", {"over": "ina"}, {}),
    "repair": ("repair", {"code": "rs", "n": 4, "k": 2}, {}),
    "nothing": ("ring", {}, {}),
}  # fmt: skip
"""(collective, its keys, keys of transport) of jobs that have the switch program"""
_BETWEEN_HOSTS = {
    "ring": {}, "binomial_tree": {}, "recursive_doubling": {}, "rabenseifner": {}, "sharded_ps": {}, "shift": {},
    "dlcp": {"over": "ps"}, "repair": {"code": "rs", "n": 4, "k": 2}, "atp": {"hosts": ["h4", "h5"], "server": "h6"},
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "recoveries", "world"),
    in_both_worlds(
        [
            ("mixed-netreduce-ring", ["gbn", "irn"]),
            ("mixed-atp-rabenseifner", ["irn", "timers"]),
            ("mixed-spine-leaf", ["gbn", "irn"]),
        ],
        emulated=[("mixed-atp-rabenseifner", ["irn", "timers"])],
    ),
)
def test_a_built_in_passes(name: str, recoveries: list[str], world: str, tmp_path: Path) -> None:
    # At a dilation of 1 the one switch of 14 hosts would be later than a sender waits.
    result = run_scenario(load_scenario(name, ["dilation=10"], world=world), tmp_path / "run")
    assert_passes(result.document)
    assert all(fault["strikes"] for fault in result.document["faults"])
    assert result.document["recoveries"] == recoveries
    jobs = result.document["metrics"]["jobs"]["each"]
    assert " + ".join(dict.fromkeys(job["protocol"] for job in jobs)) == result.document["protocol"]


@pytest.mark.parametrize("beside", _BETWEEN_HOSTS)
@pytest.mark.parametrize("summed", _SUMMED)
def test_every_switch_program_forwards_what_is_not_its_own(summed: str, beside: str, tmp_path: Path) -> None:
    protocol, keys, transport = _SUMMED[summed]
    program = "forward" if protocol == "ring" else protocol
    data = {
        "name": "pair",
        "world": "simulated",
        "topology": {"kind": "rack", "hosts": 6, "link": {"rate": "100Mbps", "delay": "100us"}},
        "switch": {"program": program, "memory": 64},
        "transport": transport,
        "job": {"protocol": protocol, "hosts": ["h1", "h2", "h3"], "size": "60kB", **keys},
        "beside": [
            {"job": {"protocol": beside, "hosts": ["h4", "h5", "h6"], "size": "40kB", **_BETWEEN_HOSTS[beside]}}
        ],
        "faults": [{"kind": "loss", "name": "loss", "links": "all", "rate": "1%"}],
    }
    file = tmp_path / "pair.yaml"
    file.write_text(yaml.safe_dump(data), encoding="utf-8")
    result = run_scenario(load_scenario(str(file)), tmp_path / "run")
    assert_passes(result.document)
