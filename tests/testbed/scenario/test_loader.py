"""What a file means, and what happens to it on the way to a value and back."""

from __future__ import annotations

import contextlib
import dataclasses

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from testbed.faults.forge import FORGERIES
from testbed.faults.model import Drop, Kill, LinkDown, Loss, Match, RateChange, Window
from testbed.plan import make_plan
from testbed.scenario import Scenario, builtin_names, dump_scenario, load_scenario, parse_scenario
from testbed.scenario.clocks import Clocks
from testbed.scenario.fault_schema import DATA_OPCODES, FAULT_KINDS
from testbed.scenario.geometry import geometry_of, packet_bytes
from testbed.scenario.yamlfile import parse_yaml
from topologies import Direction
from workloads.errors import ScenarioError
from workloads.wire import Opcode

_MINIMAL = "name: least\ntopology: {kind: rack, hosts: 3}\n"

_FULL = """\
name: all-keys
description: every key once
seed: 7
world: simulated
topology:
  kind: rack
  hosts: 4
  link: {rate: 200Mbps, delay: 1ms, jitter: 100us, mtu: 9000, queue: 500, ecn_threshold: 65}
  links:
    h2-s1: {rate: 50Mbps}
    h3-s1: {ecn_threshold: none}
    h4-s1: {ecn_threshold: 20}
switch: {program: netreduce, release: asap, gate: epsn, memory: 99,
         knobs: {preempt: false, age: minus1, free: ack, ps_copy: false, reminder: false, reclaim: false}}
transport: {path_mtu: 4096, verb: send, timeout: 14, retry_count: 3, rnr_retry: 2, rnr_timer: 9, ack_every: 4,
            start_psn: 0xfffffc, receive_late: 2ms, rto: 5ms, aimd: false, congestion_control: dcqcn,
            dcqcn: {time_scale: 40, gain: 0.01, recovery_steps: 3, alpha_timer: 1ms, increase_timer: 2ms,
                    byte_counter: 3MB, cnp_interval: 4ms, cut_period: 5ms, additive_increase: 6Mbps,
                    hyper_increase: 7Mbps, min_rate: 8Mbps, burst: 9us}}
job: {collective: netreduce, workload: synthetic, size: 2MiB, dtype: int32, op: max, iterations: 3, message_packets: 8,
      window_messages: 3, copies: 1, window_packets: 12, credit: received, hello: false, fallback: ring,
      straggler: {rank: 2, delay: 100ms}, pipelined: false, hosts: [h4, h1, h3]}
clocks: {offset: 500ms, drift: 100ppm}
faults:
  - {kind: loss, links: [h1-s1], direction: up, rate: 1%, from: 1ms, until: 2s,
     match: {opcode: nak, psn_offset: 3, message: 1, packet: last, attempt: 2, rank: 0}}
  - {kind: kill, name: crash, node: h4, from: 3s}
background:
  - {kind: udp, name: noise, from: h2, to: h4, rate: 5Mbps, start: 1s, stop: 2s, size: 1MB, payload: 500, ecn: true}
  - {kind: udp, from: h1, to: h2, rate: 10Mbps}
time_limit: 30s
capture: false
trace: true
expect: fail
"""


def test_defaults_are_those_of_the_model():
    scenario = parse_scenario(_MINIMAL, "least.yaml")
    plain = Scenario(name="least", topology=scenario.topology, link=scenario.link)
    assert scenario == plain
    assert [host.name for host in scenario.topology.hosts] == ["h1", "h2", "h3"]
    assert scenario.source == "least.yaml"


def test_every_key_arrives_where_it_belongs():
    scenario = parse_scenario(_FULL, "full.yaml")
    transport, job = scenario.transport, scenario.job
    assert (scenario.seed, scenario.world, scenario.time_limit_ns) == (7, "simulated", 30 * 10**9)
    assert scenario.trace
    assert (scenario.capture, scenario.expect, scenario.description) == (False, "fail", "every key once")
    assert dataclasses.astuple(scenario.link) == (200_000_000, 1_000_000, 100_000, 9000, 500, 65)
    assert scenario.topology.link("h2-s1").shape == dataclasses.replace(scenario.link, rate_bps=50_000_000)
    assert scenario.topology.link("h1-s1").shape == scenario.link
    thresholds = [scenario.topology.link(name).shape.ecn_threshold_packets for name in ("h2-s1", "h3-s1", "h4-s1")]
    assert thresholds == [65, None, 20]
    assert scenario.clocks == Clocks(offset_ns=500_000_000, drift_ppb=100_000)
    assert dataclasses.astuple(scenario.switch) == (
        "netreduce", "asap", "epsn", "soft", 99, (False, "minus1", "ack", False, False, False)
    )  # fmt: skip
    assert dataclasses.astuple(transport) == (
        4096, "send", 14, 3, 2, 9, 4, 0xFFFFFC, 2_000_000, 5_000_000, "udp", 1, False, "dcqcn",
        (40.0, 0.01, 10**6, 2 * 10**6, 3 * 10**6, 4 * 10**6, 5 * 10**6, 6 * 10**6, 7 * 10**6, 8 * 10**6, 9000, 3),
    )  # fmt: skip
    assert dataclasses.astuple(job)[:17] == (
        "netreduce", "synthetic", 2 << 20, "int32", "max", 3, 8, 3, 1, 12, "received", False, "ring", 2, 100_000_000,
        False, ("h4", "h1", "h3"),
    )  # fmt: skip
    match = Match(frozenset({0x11}), 0x60, 3, 1, -1, 2, 0)
    loss = Loss("loss-1", ("h1-s1",), (Direction.UP,), Window(1_000_000, 2 * 10**9), match, 0.01)
    assert scenario.faults == (loss, Kill("crash", "h4", Window(3 * 10**9)))
    assert [dataclasses.astuple(flow) for flow in scenario.background] == [
        ("noise", "udp", "h2", "h4", 5_000_000, 10**9, 2 * 10**9, 10**6, 500, True),
        ("udp-2", "udp", "h1", "h2", 10_000_000, 0, None, None, 1000, False),
    ]
    assert [host.name for host in scenario.ranks] == ["h4", "h1", "h3"]


def test_the_framing_of_switchml_arrives():
    text = f"{_MINIMAL}switch: {{program: switchml}}\ntransport: {{framing: uc, uc_packets: 3}}\njob: {{collective: switchml}}\n"
    scenario = parse_scenario(text, "uc.yaml")
    assert (scenario.transport.framing, scenario.transport.uc_packets) == ("uc", 3)
    assert parse_scenario(dump_scenario(scenario), "copy.yaml") == scenario


def test_words_for_opcodes():
    def match_of(opcode: str) -> Match:
        text = f"{_MINIMAL}faults:\n  - kind: drop\n    match: {{opcode: {opcode}}}\n"
        fault = parse_scenario(text, "x.yaml").faults[0]
        assert isinstance(fault, Drop)
        return fault.match

    assert match_of("ack") == Match(frozenset({0x11}), 0x1F)
    assert match_of("ACKNOWLEDGE") == Match(frozenset({0x11}))
    assert match_of("cnp") == Match(frozenset({0x81}))
    assert match_of("[WRITE_FIRST, WRITE_ONLY_IMM]") == Match(frozenset({6, 11}))
    data = match_of("data").opcodes
    assert data == DATA_OPCODES
    assert {Opcode.SEND_FIRST, Opcode.WRITE_LAST_IMM, Opcode.WRITE_ONLY, Opcode.UC_WRITE_FIRST} <= DATA_OPCODES
    assert not {Opcode.ACKNOWLEDGE, Opcode.READ_REQUEST, Opcode.UD_SEND_ONLY, Opcode.CNP} & DATA_OPCODES


def test_all_links_are_resolved_and_flaps_keep_their_figures():
    text = f"{_MINIMAL}faults:\n  - {{kind: link_down, from: 1ms, until: 2ms, count: 3, period: 5ms}}\n"
    fault = parse_scenario(text, "x.yaml").faults[0]
    assert fault == LinkDown(
        "link-down-1", ("h1-s1", "h2-s1", "h3-s1"), window=Window(10**6, 2 * 10**6), count=3, period_ns=5 * 10**6
    )


def test_different_faults_compose_and_equal_ones_may_follow_each_other():
    faults = """faults:
  - {kind: loss, links: h1-s1, rate: 1%, until: 1s}
  - {kind: loss, links: h1-s1, rate: 2%, from: 1s}
  - {kind: loss, links: h1-s1, rate: 2%, from: 1s, match: {opcode: ack}}
  - {kind: burst, links: h1-s1, rate: 1%}
  - {kind: loss, links: h2-s1, rate: 1%, direction: up}
  - {kind: loss, links: h2-s1, rate: 2%, direction: down}
  - {kind: rate_change, links: h2-s1, rate: 10Mbps}
"""
    scenario = parse_scenario(_MINIMAL + faults, "x.yaml")
    assert len(scenario.faults) == 7
    assert isinstance(scenario.faults[-1], RateChange)


def test_overrides_change_what_the_file_says():
    scenario = parse_scenario(
        _FULL,
        "full.yaml",
        [
            "transport.verb=write",
            "faults.crash.from=4s",
            "faults[0].rate=2%",
            "topology.links.h3-s1.delay=2ms",
            "clocks={}",
        ],
        seed=9,
        world="emulated",
    )
    assert (scenario.transport.verb, scenario.seed, scenario.world) == ("write", 9, "emulated")
    first, second = scenario.faults
    assert isinstance(first, Loss)
    assert first.rate == 0.02
    assert second == Kill("crash", "h4", Window(4 * 10**9))
    assert scenario.topology.link("h3-s1").shape.delay_ns == 2_000_000


def test_an_override_makes_the_section_that_it_needs():
    scenario = parse_scenario(_MINIMAL, "x.yaml", ["job.straggler.rank=1", "job.straggler.delay=5ms", "faults=[]"])
    assert (scenario.job.straggle_rank, scenario.job.straggle_ns) == (1, 5_000_000)


def test_code_may_only_be_named_on_the_command_line():
    scenario = parse_scenario(_MINIMAL, "x.yaml", ["switch.program=my/own.py:Sum"])
    assert scenario.switch.program == "my/own.py:Sum"
    with pytest.raises(ScenarioError, match="cannot name code to run"):
        parse_scenario(f"{_MINIMAL}switch: {{program: 'my/own.py:Sum'}}\n", "x.yaml")


@pytest.mark.parametrize(("size", "messages", "packets"), [(4, 1, 1), (3 * 1024 - 16, 1, 3), (3 * 1024 - 12, 2, 4)])
def test_geometry_counts_the_header_of_each_message(size, messages, packets):
    scenario = parse_scenario(_MINIMAL, "x.yaml", [f"job.size={size}", "job.message_packets=3", "job.iterations=2"])
    geometry = geometry_of(scenario.job, scenario.transport)
    assert geometry is not None
    assert (geometry.messages, geometry.packets) == (1 + 2 * messages, 1 + 2 * packets)
    assert sum(geometry.packets_of(message) for message in range(geometry.messages)) == geometry.packets


def test_the_least_mtu_is_enough_and_one_byte_less_is_not():
    for verb, least in (("write", 1088), ("send", 1072)):
        good = parse_scenario(_MINIMAL, "x.yaml", [f"topology.link.mtu={least}", f"transport.verb={verb}"])
        assert packet_bytes(good.transport)[0] == least
        with pytest.raises(ScenarioError, match=f"= {least}"):
            parse_scenario(_MINIMAL, "x.yaml", [f"topology.link.mtu={least - 1}", f"transport.verb={verb}"])


@pytest.mark.parametrize("name", builtin_names())
def test_built_ins_load_plan_and_survive_being_written(name):
    scenario = load_scenario(name)
    assert scenario.name == name
    assert len(scenario.description) > 100
    assert parse_scenario(dump_scenario(scenario), "copy.yaml") == scenario
    hosts, tenants = len(scenario.topology.hosts), bool(scenario.background)
    server = [scenario.job.server] if scenario.job.server else []
    everyone = [host.name for host in scenario.topology.hosts if host.part != "server" or host.name in server]
    idle = 1 if name in ("jobs-8", "jobs-64") else 0  # a server for programs that need one
    assert tenants or [host.name for host in scenario.ranks] + server == everyone[: len(everyone) - idle]
    assert [worker.name for worker in make_plan(scenario).workers] == [host.name for host in scenario.ranks]
    plain = hosts == 4 + len(server) or len(scenario.topology.switches) > 1
    assert plain or tenants or scenario.jobs or name == "rack-32"
    serial_ns = scenario.job.iterations * scenario.job.size_bytes * 8 * 10**9 // scenario.link.rate_bps
    assert serial_ns < 10**9 or name in ("demo", "accelerator-openflow"), (
        "a built-in takes about two seconds, recovery included"
    )


def test_the_loss_case_table_is_covered():
    rows = {
        "data-first-lost", "message-only-first-lost", "data-middle-lost", "data-last-lost", "first-of-last-message-lost",
        "result-lost", "last-result-lost", "ack-lost", "nak-lost", "retransmission-lost-again", "tail-lost",
        "stale-duplicate", "network-duplicate", "reorder", "corruption", "psn-wrap", "rewind", "straggler",
        "straggler-too-late", "receiver-not-ready", "delayed-link", "link-flap", "switch-paused", "worker-paused",
        "dead-link", "switch-killed", "switch-restarted", "worker-killed", "rack", "rack-lossy", "rack-bursty",
        "rack-int32", "rack-send", "rack-jumbo", "ring", "shift", "spine-leaf-ring", "spine-leaf-ring-lossy", "fat-tree-ring",
        "custom-topology-ring", "rack-32", "congested", "congested-tcp",
        "hierarchical", "hierarchical-lossy", "hierarchical-ring", "hierarchical-tencent",
        "spine-leaf", "spine-leaf-lossy",
        "spine-leaf-partial-lost", "spine-leaf-value-lost", "spine-leaf-last-hop-lost", "spine-leaf-boundary-lost",
        "spine-leaf-first-lost", "spine-leaf-duplicate", "spine-leaf-reorder", "spine-leaf-ack-lost",
    }  # fmt: skip
    assert rows <= set(builtin_names())
    failing = {name for name in builtin_names() if load_scenario(name).expect == "fail"}
    assert failing == {
        "straggler-too-late", "corrupt-contribution", "corrupt-result", "dead-link", "switch-killed",
        "switch-restarted", "worker-killed",
    }  # fmt: skip


def test_psn_wrap_wraps_in_the_middle_of_a_message():
    scenario = load_scenario("psn-wrap")
    geometry = geometry_of(scenario.job, scenario.transport)
    assert geometry is not None
    assert scenario.transport.start_psn is not None
    wrap = 2**24 - scenario.transport.start_psn
    start = sum(geometry.packets_of(message) for message in range(2))
    data, result = scenario.faults
    assert isinstance(data, Drop)
    assert isinstance(result, Drop)
    assert (data.match.message, data.match.packet) == (2, wrap - start)
    assert (result.match.message, result.match.packet) == (2, wrap - start - 1)
    assert 0 < wrap - start < geometry.packets_of(2) - 1


def test_last_messages_are_the_last():
    for name in ("first-of-last-message-lost", "last-result-lost", "tail-lost", "spine-leaf-ack-lost"):
        scenario = load_scenario(name)
        geometry, fault = geometry_of(scenario.job, scenario.transport), scenario.faults[0]
        assert geometry is not None
        assert isinstance(fault, Drop)
        assert fault.match.message == geometry.messages - 1, name


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
        "faults": st.sampled_from(sorted(FAULT_KINDS)).flatmap(_fault).map(lambda fault: [fault]),
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


def test_plain_scalars_are_read_as_people_mean_them():
    text = "a: [1, -2, 0x1f, 1.5, 1e3, true, false, null, ~, 12ms, 2026-01-02, 'on', \"1:30\", .inf, =]\n"
    data, _ = parse_yaml(text, "x.yaml")
    assert data["a"] == [
        1,
        -2,
        31,
        1.5,
        1000.0,
        True,
        False,
        None,
        None,
        "12ms",
        "2026-01-02",
        "on",
        "1:30",
        ".inf",
        "=",
    ]


def test_a_syndrome_survives_being_written():
    text = f"{_MINIMAL}faults:\n  - kind: drop\n    match: {{opcode: ACKNOWLEDGE, syndrome: 0x2c}}\n"
    scenario = parse_scenario(text, "x.yaml")
    assert scenario.faults == (Drop("drop-1", ("h1-s1", "h2-s1", "h3-s1"), match=Match(frozenset({0x11}), 0x2C)),)
    assert parse_scenario(dump_scenario(scenario), "y.yaml") == scenario


def test_lines_are_remembered():
    _, places = parse_yaml("a:\n  b: 1\n  c:\n    - d\n    - e\n", "x.yaml")
    assert {path: place.line for path, place in places.items()} == {
        (): 1, ("a",): 1, ("a", "b"): 2, ("a", "c"): 3, ("a", "c", 0): 4, ("a", "c", 1): 5,
    }  # fmt: skip
