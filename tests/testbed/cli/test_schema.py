"""`tb schema`: what editors are told is what the loader takes."""

from __future__ import annotations

import json

import jsonschema
import pytest
import yaml

from testbed.cli.main import main
from testbed.faults.kinds import FAULT_KINDS
from testbed.reading.sections import names_of
from testbed.scenario import builtin_names, dump_scenario, load_scenario
from testbed.scenario.builtin import find_scenario
from testbed.scenario.keys.topology_kinds import TOPOLOGY_KINDS
from testbed.scenario.model import Scenario
from testbed.scenario.schema import scenario_schema

_SCHEMA = scenario_schema()
_VALIDATOR = jsonschema.Draft202012Validator(_SCHEMA)


def test_the_command_prints_the_schema(capsys):
    assert main(["schema"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["properties"].keys() == set(names_of(Scenario))
    jsonschema.Draft202012Validator.check_schema(printed)


@pytest.mark.parametrize("name", builtin_names())
def test_built_ins_hold_to_it_as_written_and_resolved(name):
    text = find_scenario(name)[0].read_text(encoding="utf-8")
    for each in (text, dump_scenario(load_scenario(name))):
        _VALIDATOR.validate(yaml.safe_load(each))


@pytest.mark.parametrize("changes", [[], ["job.protocol=ring"], ["job.divide=2", "job.trace_root=1"]])
def test_a_job_that_is_a_trace_holds_to_it(tmp_path, changes):
    """Some of its keys are keys of other collectives, too."""
    path = tmp_path / "t.goal"
    path.write_text("num_ranks 4 rank 0 { send 8b to 1 } rank 1 { recv 8b from 0 }")
    _VALIDATOR.validate(yaml.safe_load(dump_scenario(load_scenario("rack", [f"job.workload={path}", *changes]))))
    plain = {"name": "a", "topology": {"kind": "rack", "hosts": 4}, "job": {"workload": str(path)}}
    _VALIDATOR.validate(plain)
    assert not _VALIDATOR.is_valid(plain | {"job": {"protocol": "ring", "divide": 2}})


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"seeds": 1}, []),
        ({"seed": "one"}, ["seed"]),
        ({"world": "mars"}, ["world"]),
        ({"topology": {"kind": "rack", "hots": 4}}, ["topology"]),
        ({"topology": {"kind": "rack", "hosts": 4, "link": {"mtu": 10}}}, ["topology"]),
        ({"transport": {"verb": "read"}}, ["transport", "verb"]),
        ({"job": {"protocol": "atp", "layers": [{"layer": "a"}]}}, ["job", "layers", 0]),
        ({"job": {"layers": [{"layer": "a", "elements": 4}]}}, ["job"]),
        ({"transport": {"rto": "10ms"}}, ["transport"]),
        ({"job": {"lost": 1}}, ["job"]),
        ({"job": {"protocol": "repair", "code": "lrc"}}, ["job", "code"]),
        ({"faults": [{"kind": "loss"}]}, ["faults", 0]),
        ({"faults": [{"kind": "pause", "node": "s1"}]}, ["faults", 0]),
        ({"background": [{"kind": "udp", "from": "h1"}]}, ["background", 0]),
        ({"nics": {"h1": "hard"}}, ["nics", "h1"]),
    ],
)
def test_what_the_loader_refuses_by_itself_the_schema_refuses_there(change, place):
    good = {
        "name": "good", "topology": {"kind": "rack", "hosts": 4},
        "faults": [{"kind": "loss", "rate": "1%"}], "background": [{"kind": "udp", "from": "h1", "to": "h2"}],
    }  # fmt: skip
    _VALIDATOR.validate(good)
    errors = list(_VALIDATOR.iter_errors(good | change))
    assert [list(error.absolute_path) for error in errors] == [place]


def test_every_kind_of_topology_and_fault_is_there():
    defs = _SCHEMA["$defs"]
    words = {told["properties"]["kind"].get("const") for told in defs.values() if "kind" in told["properties"]}
    assert words >= {*TOPOLOGY_KINDS, *FAULT_KINDS}
    missing = [
        f"{name}.{key}"
        for name, told in defs.items()
        for key, value in told["properties"].items()
        if key != "kind" and not value.get("description")
    ]
    assert missing == []
