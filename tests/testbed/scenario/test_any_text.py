"""Whatever is written loads back, and whatever a file holds brings a scenario or a ScenarioError."""

from __future__ import annotations

import contextlib

import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from testbed.faults.forge import FORGERIES
from testbed.faults.kinds import FAULT_KINDS
from testbed.scenario import dump_scenario, parse_scenario
from workloads.errors import ScenarioError

_DURATION = st.builds(lambda n, unit: f"{n}{unit}", st.integers(1, 999), st.sampled_from(["ns", "us", "ms"]))

_SHARE = st.one_of(st.builds(lambda n: f"{n}%", st.integers(1, 100)), st.floats(1e-9, 1))

_WINDOW = st.fixed_dictionaries({}, optional={"from": _DURATION})

_MATCH = st.fixed_dictionaries(
    {},
    optional={
        "opcode": st.sampled_from(["data", "ack", "nak", "cnp", "WRITE_MIDDLE", ["WRITE_FIRST", "ACKNOWLEDGE"]]),
        "psn_offset": st.integers(0, 300),
        "message": st.integers(0, 6),
        "attempt": st.integers(1, 9),
        "rank": st.integers(0, 3),
    },
)

_ANSWERS = st.fixed_dictionaries({"opcode": st.just("ACKNOWLEDGE"), "syndrome": st.integers(0, 255)})

_LINKS = st.one_of(st.just("all"), st.lists(st.sampled_from(["h1-s1", "h2-s1", "h4-s1"]), min_size=1, unique=True))

_PACKET = {"links": _LINKS, "direction": st.sampled_from(["up", "down", "both"])}

_OWN_KEYS = {
    "loss": {"rate": _SHARE, "match": st.one_of(_MATCH, _ANSWERS)},
    "burst": {"rate": _SHARE, "recover": _SHARE, "loss_bad": _SHARE, "loss_good": _SHARE, "match": _MATCH},
    "drop": {"match": st.one_of(_MATCH, _ANSWERS), "rate": _SHARE},
    "corrupt": {"repair_icrc": st.booleans(), "bit": st.integers(0, 999), "rate": _SHARE, "match": _MATCH},
    "duplicate": {"delay": _DURATION, "rate": _SHARE},
    "reorder": {"delay": _DURATION, "rate": _SHARE},
    "delay": {"delay": _DURATION, "rate": _SHARE},
    "ecn_mark": {"rate": _SHARE},
    "forge": {"what": st.sampled_from(sorted(FORGERIES)), "before": st.booleans(), "delay": _DURATION},
    "link_down": {},
    "rate_change": {"rate": st.builds(lambda n: f"{n}kbps", st.integers(1, 9999))},
    "kill": {"node": st.sampled_from(["h1", "s1"])},
    "pause": {"node": st.sampled_from(["h1", "s1"]), "until": st.just("50s")},
}


def _fault(kind: str) -> st.SearchStrategy[dict[str, object]]:
    place = {} if kind in ("kill", "pause") else _PACKET
    return st.builds(
        lambda own, window: {"kind": kind} | own | window, st.fixed_dictionaries(_OWN_KEYS[kind] | place), _WINDOW
    )


_SCENARIOS = st.fixed_dictionaries(
    {
        "name": st.from_regex(r"[a-z][a-z0-9]{0,9}", fullmatch=True),
        "topology": st.fixed_dictionaries(
            {"kind": st.just("rack"), "hosts": st.integers(4, 32)},
            optional={
                "link": st.fixed_dictionaries(
                    {},
                    optional={
                        "rate": st.just("1.5Gbps"),
                        "queue": st.integers(31, 99),
                        "ecn_threshold": st.integers(1, 30),
                    },
                ),
                "links": st.dictionaries(
                    st.sampled_from(["h1-s1", "h3-s1"]),
                    st.fixed_dictionaries({"delay": _DURATION}, optional={"mtu": st.integers(1088, 9000)}),
                ),
            },
        ),
    },
    optional={
        "clocks": st.fixed_dictionaries({}, optional={"offset": _DURATION, "drift": st.sampled_from(["3ppb", "9ppm"])}),
        "description": st.text(max_size=60),
        "seed": st.integers(0, 2**63 - 1),
        # A pause storm needs a section `pfc`: `test_pfc.py`.
        "faults": st.sampled_from(sorted(FAULT_KINDS.keys() - {"pause_storm"}))
        .flatmap(_fault)
        .map(lambda fault: [fault]),
        "transport": st.fixed_dictionaries(
            {},
            optional={
                "start_psn": st.one_of(st.just("random"), st.integers(0, 2**24 - 1)),
                "timeout": st.integers(0, 31),
            },
        ),
        "job": st.fixed_dictionaries(
            {"size": st.just("1200kB")},
            optional={
                "iterations": st.integers(1, 99),
                "straggler": st.fixed_dictionaries({"rank": st.integers(0, 3), "delay": _DURATION}),
                "workload": st.just("synthetic"),
                "dtype": st.sampled_from(["int32", "int32sat"]),
            },
        ),
        "capture": st.booleans(),
        "expect": st.sampled_from(["pass", "fail", "unknown"]),
    },
)


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(_SCENARIOS.map(lambda data: data | {"world": "simulated"} if "clocks" in data else data))
def test_what_is_written_loads_back_to_the_equal_value(data):
    scenario = parse_scenario(yaml.safe_dump(data, allow_unicode=False), "made.yaml")
    again = parse_scenario(dump_scenario(scenario), "written.yaml")
    assert again == scenario
    assert dump_scenario(again) == dump_scenario(scenario)


@settings(max_examples=100, deadline=None)
@given(st.one_of(st.text(max_size=80), st.text(alphabet="ab:-[]{}&*!<>|'\"#%@,? \n01._~", max_size=80)))
def test_no_text_brings_anything_but_a_scenario_error(text):
    problem = "noise.yaml"
    try:
        parse_scenario(text, "noise.yaml")
    except ScenarioError as error:
        problem = str(error)
    assert "noise.yaml" in problem


_JUNK = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(max_size=8)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)),
    max_leaves=6,
)


@settings(max_examples=100, deadline=None)
@given(_SCENARIOS, st.sampled_from(["topology", "transport", "job", "faults", "switch", "seed", "world"]), _JUNK)
def test_no_value_in_a_wrong_place_brings_anything_else(data, key, junk):
    with contextlib.suppress(ScenarioError):
        parse_scenario(yaml.safe_dump(data | {key: junk}), "junk.yaml")
