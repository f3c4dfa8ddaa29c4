"""Keys that some collectives alone have: the loader, resolved files and the schema for editors agree on whose they
are."""

from __future__ import annotations

import jsonschema
import pytest
import yaml

from testbed.reading.sections import keys_of
from testbed.scenario import dump_scenario, load_scenario, parse_scenario
from testbed.scenario.keys.job import Job
from testbed.scenario.keys.transport import Transport
from testbed.scenario.protocols.named import protocol_names
from testbed.scenario.protocols.owned_keys import foreign_keys
from testbed.scenario.schema import scenario_schema
from workloads.errors import ScenarioError

_VALIDATOR = jsonschema.Draft202012Validator(scenario_schema())
_SECTIONS = {"job": Job, "transport": Transport}


def _file(protocol: str, section: str, key: str, value: object) -> dict[str, object]:
    sections: dict[str, dict[str, object]] = {"job": {"protocol": protocol}}
    sections.setdefault(section, {})[key] = value
    return {"name": "x", "topology": {"kind": "rack", "hosts": 4}, **sections}


@pytest.mark.parametrize("protocol", protocol_names())
@pytest.mark.parametrize("section", _SECTIONS)
def test_loader_and_schema_refuse_the_same_keys(protocol: str, section: str) -> None:
    foreign = {key.name for key in foreign_keys(_SECTIONS[section], protocol)}
    assert foreign
    for key in keys_of(_SECTIONS[section]):
        if key.only is None:
            continue
        data = _file(protocol, section, key.name, None)
        refused = [error for error in _VALIDATOR.iter_errors(data) if "False schema" in error.message]
        assert bool(refused) == (key.name in foreign), key.name
        with pytest.raises(ScenarioError) as told:
            parse_scenario(yaml.safe_dump(data), "x.yaml")
        assert (key.only.lacks.format(protocol) in str(told.value)) == (key.name in foreign), key.name


def test_a_file_without_a_collective_is_one_of_the_usual() -> None:
    data = {"name": "x", "topology": {"kind": "rack", "hosts": 4}, "transport": {"rto": "10ms"}}
    (error,) = _VALIDATOR.iter_errors(data)
    assert (list(error.path), "10ms" in error.message) == (["transport"], True)


@pytest.mark.parametrize("name", ["rack", "atp", "switchml", "grid"])
def test_resolved_files_hold_no_key_of_others(name: str) -> None:
    scenario = load_scenario(name)
    data = yaml.safe_load(dump_scenario(scenario))
    for section, declared in _SECTIONS.items():
        foreign = {key.name for key in foreign_keys(declared, scenario.job.protocol)}
        assert not foreign & data[section].keys()
