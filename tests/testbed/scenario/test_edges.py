"""Numbers, text and limits at the edges of scenario files."""

import gc
import time

import pytest

from testbed.plan import make_plan
from testbed.scenario import parse_scenario
from workloads.errors import ScenarioError

_RACK = "name: a\nworld: simulated\ntopology: {kind: rack, hosts: 3}\n"


def _errors(text):
    with pytest.raises(ScenarioError) as caught:
        parse_scenario(text, "a.yaml")
    return str(caught.value)


@pytest.mark.parametrize(("text", "seed"), [("1e3", 1000), ("1000.0", 1000), ("1.5e1", 15), ("1E2", 100)])
def test_whole_numbers_however_they_are_written(text, seed):
    assert parse_scenario(f"{_RACK}seed: {text}\n", "a.yaml").seed == seed
    assert parse_scenario(f"{_RACK}job: {{size: 1e5}}\n", "a.yaml").job.size_bytes == 100_000


@pytest.mark.parametrize("text", ["1.5", "1e400", "1e-3", "9" * 5000, '"1e3"', ".inf", "-1"])
def test_what_is_no_whole_number_is_named(text):
    assert "a.yaml:4: seed: " in _errors(f"{_RACK}seed: {text}\n")


@pytest.mark.parametrize("value", ["1e400", "0", "-1", "1000001", "abc", "null", "[]"])
def test_a_bad_slowdown_is_named_and_nothing_else(value):
    text = _errors(f"{_RACK}job: {{straggler: {{rank: 1, slowdown: {value}}}}}\n")
    assert text.startswith("a.yaml:4: job.straggler.slowdown: ")
    assert "\n" not in text


@pytest.mark.parametrize("place", ["description: {}", "job: {{protocol: {}}}", "faults: [{{kind: {}}}]", "{}: 1"])
def test_half_of_a_surrogate_pair_is_refused(place):
    text = _errors(_RACK + place.format('"x\\ud800"') + "\n")
    assert "a.yaml:4: half of a surrogate pair; found \\ud800" in text


def test_control_characters_are_shown_escaped():
    scenario = parse_scenario(f'{_RACK}description: "x\\0y \\e[31m \\u202e"\n', "a.yaml")
    assert scenario.description == "x\\u0000y \\u001b[31m \\u202e"
    assert "\x1b" not in _errors(f'{_RACK}"a\\e[31m": 1\n')


@pytest.mark.parametrize(("protocol", "program"), [("ring", "forward"), ("netreduce", "netreduce")])
@pytest.mark.parametrize("hosts", [33, 64])
def test_a_rack_of_up_to_64_hosts(protocol, program, hosts):
    text = (
        f"name: a\nworld: simulated\ntopology: {{kind: rack, hosts: {hosts}}}\nswitch: {{program: {program}}}\n"
        f"job: {{size: {4 * hosts}B, protocol: {protocol}}}\n"
    )
    assert len(make_plan(parse_scenario(text, "a.yaml")).workers) == hosts
    more = text.replace(f"hosts: {hosts}", "hosts: 65").replace(f"{4 * hosts}B", "260B")
    if protocol == "ring":
        assert len(make_plan(parse_scenario(more, "a.yaml")).workers) == 65
    else:
        assert "a.yaml:3: topology: a switch of netreduce sums at most 64 hosts; found 65" in _errors(more)


@pytest.mark.parametrize(("kind", "most"), [("host", 1024), ("switch", 512)])
def test_a_custom_topology_has_so_many_nodes(kind, most):
    names = [f"{{name: n{number}, role: {kind}}}" for number in range(most + 1)]
    others = "{name: h1, role: host}, {name: h2, role: host}, {name: s1, role: switch}"
    text = f"name: a\nworld: simulated\ntopology: {{kind: custom, nodes: [{', '.join(names)}, {others}], links: []}}\n"
    assert f"topology.nodes: too many {kind}" in _errors(text)


def test_checks_of_faults_take_linear_time():
    def cpu_s(count):
        faults = "".join(
            f"  - {{kind: loss, links: [h{index % 3 + 1}-s1], rate: 1%, from: {index}ms, until: {index + 1}ms}}\n"
            for index in range(count)
        )
        gc.disable()  # it visits what all tests before left
        try:
            began = time.process_time()
            assert len(parse_scenario(f"{_RACK}time_limit: 60min\nfaults:\n{faults}", "a.yaml").faults) == count
            return time.process_time() - began
        finally:
            gc.enable()

    cpu_s(50)
    few = min(cpu_s(200) for _ in range(2))
    assert min(cpu_s(1600) for _ in range(2)) < 8 * few * 2.5
