"""What a file means, and what happens to it on the way to a value and back."""

from __future__ import annotations

import dataclasses

import pytest

from testbed.faults.model import Drop, Kill, LinkDown, Loss, Match, RateChange, Window
from testbed.faults.opcodes import DATA_OPCODES
from testbed.plan import make_plan
from testbed.reading.yamlfile import parse_yaml
from testbed.scenario import Scenario, builtin_names, dump_scenario, load_scenario, parse_scenario
from testbed.scenario.geometry import geometry_of, packet_bytes
from testbed.scenario.keys.clocks import Clocks
from testbed.scenario.keys.job import Straggler
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
  link: {rate: 200Mbps, delay: 1ms, jitter: 100us, mtu: 9000, queue: 500, ecn_threshold: 65, queue_full: drop,
         priority: layers, drop_low_above: 30}
  links:
    h2-s1: {rate: 50Mbps}
    h3-s1: {ecn_threshold: none}
    h4-s1: {ecn_threshold: 20}
switch: {program: netreduce, release: asap, gate: epsn, memory: 99}
transport: {path_mtu: 4096, verb: send, recovery: gbn, timeout: 14, retry_count: 3, rnr_retry: 2, rnr_timer: 9,
            ack_every: 4, start_psn: 0xfffffc, receive_late: 2ms, congestion_control: dcqcn,
            dcqcn: {time_scale: 40, gain: 0.01, recovery_steps: 3, preset: hpcc, alpha_timer: 1ms, increase_timer: 2ms,
                    byte_counter: 3MB, cnp_interval: 4ms, cut_period: 5ms, additive_increase: 6Mbps,
                    hyper_increase: 7Mbps, min_rate: 8Mbps, burst: 9us}}
job: {protocol: netreduce, workload: synthetic, size: 2MiB, dtype: int32, op: max, iterations: 3, message_packets: 8,
      window_messages: 3, credit: received, hello: false, fallback: ring,
      straggler: {rank: 2, delay: 100ms}, pipelined: false, hosts: [h4, h1, h3]}
clocks: {offset: 500ms, drift: 100ppm}
faults:
  - {kind: loss, links: [h1-s1], direction: up, rate: 1%, from: 1ms, until: 2s,
     match: {opcode: nak, psn_offset: 3, message: 1, packet: last, attempt: 2, rank: 0}}
  - {kind: kill, name: crash, node: h4, from: 3s}
background:
  - {kind: udp, name: noise, from: h2, to: h4, rate: 5Mbps, start: 1s, stop: 2s, size: 1MB, payload: 500, ecn: true,
     dscp: 15}
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
    assert dataclasses.astuple(scenario.link) == (
        200_000_000, 1_000_000, 100_000, 9000, 500, 65, "drop", "layers", 30, None, None
    )  # fmt: skip
    assert scenario.topology.link("h2-s1").shape == dataclasses.replace(scenario.link, rate_bps=50_000_000)
    assert scenario.topology.link("h1-s1").shape == scenario.link
    thresholds = [scenario.topology.link(name).shape.ecn_threshold_packets for name in ("h2-s1", "h3-s1", "h4-s1")]
    assert thresholds == [65, None, 20]
    assert scenario.clocks == Clocks(offset_ns=500_000_000, drift_ppb=100_000)
    assert dataclasses.astuple(scenario.switch) == (
        "netreduce", "asap", "epsn", "soft", "own", 99, (True, "none", "early", True, True, True)
    )  # fmt: skip
    assert dataclasses.astuple(transport) == (
        4096, "send", "gbn", 14, 3, 2, 9, 4, 0xFFFFFC, 2_000_000, None, None, None, "udp", 1, True, "dcqcn",
        (40.0, 0.01, 10**6, 2 * 10**6, 3 * 10**6, 4 * 10**6, 5 * 10**6, 6 * 10**6, 7 * 10**6, 8 * 10**6, 9000, 3,
         "hpcc"),
    )  # fmt: skip
    assert (job.protocol, job.workload, job.size_bytes, job.dtype, job.op) == (
        "netreduce", "synthetic", 2 << 20, "int32", "max",
    )  # fmt: skip
    assert (job.iterations, job.message_packets, job.window_messages) == (3, 8, 3)
    assert (job.credit, job.hello, job.fallback, job.pipelined) == ("received", False, "ring", False)
    assert (job.straggler, job.hosts) == (Straggler(2, 100_000_000), ("h4", "h1", "h3"))
    match = Match(frozenset({0x11}), 0x60, 3, 1, -1, 2, 0)
    loss = Loss("loss-1", ("h1-s1",), (Direction.UP,), Window(1_000_000, 2 * 10**9), match, 0.01)
    assert scenario.faults == (loss, Kill("crash", "h4", Window(3 * 10**9)))
    assert [dataclasses.astuple(flow) for flow in scenario.background] == [
        ("noise", "udp", "h2", "h4", 5_000_000, 10**9, 2 * 10**9, 10**6, 500, True, 15),
        ("udp-2", "udp", "h1", "h2", 10_000_000, 0, None, None, 1000, False, 0),
    ]
    assert [host.name for host in scenario.ranks] == ["h4", "h1", "h3"]


@pytest.mark.parametrize(
    ("job", "program"),
    [
        ("{}", "netreduce"), ("{protocol: ring}", "forward"), ("{protocol: switchml}", "switchml"),
        ("{protocol: dlcp}", "forward"), ("{protocol: dlcp, over: ina}", "dlcp"),
        ("{protocol: staged, chain: vgg16, strategy: DP}", "netreduce"),
        ("{protocol: staged, chain: vgg16, strategy: DP, all_reduce: ring, hello: false}", "forward"),
    ],
)  # fmt: skip
def test_switches_run_the_program_of_the_protocol(job, program):
    text = f"{_MINIMAL}job: {job}\nswitch: {{memory: 1000}}\n"
    scenario = parse_scenario(text, "x.yaml")
    assert (scenario.switch.program, scenario.switch.memory) == (program, 1000)
    assert parse_scenario(dump_scenario(scenario), "copy.yaml") == scenario


def test_a_program_that_the_file_or_the_command_line_names_is_kept():
    text = f"{_MINIMAL}job: {{protocol: atp}}\n"
    assert parse_scenario(f"{text}switch: {{program: forward}}\n", "x.yaml").switch.program == "forward"
    assert parse_scenario(text, "x.yaml", ["switch.program=forward"]).switch.program == "forward"
    assert parse_scenario(text, "x.yaml", ["switch={program: forward}"]).switch.program == "forward"


def test_the_keys_of_datagrams_arrive():
    text = (
        f"{_MINIMAL}switch: {{program: switchml}}\ntransport: {{rto: 5ms}}\njob: {{protocol: switchml, copies: 1, "
        f"window_packets: 12}}\n"
    )
    scenario = parse_scenario(text, "datagrams.yaml")
    assert (scenario.transport.rto_ns, scenario.job.copies, scenario.job.window_packets) == (5_000_000, 1, 12)


def test_the_framing_of_switchml_arrives():
    text = (
        f"{_MINIMAL}switch: {{program: switchml}}\ntransport: {{framing: uc, uc_packets: 3}}\njob: {{protocol: "
        f"switchml}}\n"
    )
    scenario = parse_scenario(text, "uc.yaml")
    assert (scenario.transport.framing, scenario.transport.uc_packets) == ("uc", 3)
    assert parse_scenario(dump_scenario(scenario), "copy.yaml") == scenario


def test_the_recovery_of_connections_arrives():
    scenario = parse_scenario(f"{_MINIMAL}transport: {{recovery: irn}}\n", "irn.yaml")
    assert scenario.transport.recovery == "irn"
    assert parse_scenario(dump_scenario(scenario), "copy.yaml") == scenario


def test_what_only_aggregation_in_slots_knows_arrives():
    knobs = "{preempt: false, age: minus1, free: ack, ps_copy: false, reminder: false, reclaim: false}"
    text = f"{_MINIMAL}switch: {{program: esa, knobs: {knobs}}}\ntransport: {{aimd: false}}\njob: {{protocol: esa}}\n"
    scenario = parse_scenario(text, "esa.yaml")
    assert dataclasses.astuple(scenario.switch.knobs) == (False, "minus1", "ack", False, False, False)
    assert not scenario.transport.aimd
    assert parse_scenario(dump_scenario(scenario), "copy.yaml") == scenario


def test_a_server_that_nobody_programs_may_be_told_not_to_remind():
    text = f"{_MINIMAL}switch: {{program: forward, knobs: {{reminder: false}}}}\njob: {{protocol: esa}}\n"
    assert not parse_scenario(text, "esa.yaml").switch.knobs.reminder


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


def test_code_may_only_be_named_on_the_command_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my").mkdir()
    (tmp_path / "my" / "own.py").write_text("class Sum: pass\n")
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
    server = [part.job.server for part in scenario.parts if part.job.server]
    everyone = [host.name for host in scenario.topology.hosts if host.part != "server" or host.name in server]
    idle = 1 if name in ("jobs-8", "jobs-64") else 0  # a server for programs that need one
    workers = [host.name for part in scenario.parts for host in part.ranks]
    ranks = workers + server
    assert tenants or sorted(ranks) == sorted(everyone[: len(everyone) - idle])
    assert [worker.name for worker in make_plan(scenario).workers] == workers
    plain = hosts == 4 + len(server) or len(scenario.topology.switches) > 1
    odd = ("recursive-doubling", "rabenseifner", "binomial-tree", "sharded-ps")
    no_power_of_two = name.startswith(odd) or any(part.job.operation != "all_reduce" for part in scenario.parts)
    assert (
        plain
        or tenants
        or scenario.jobs
        or scenario.beside
        or name == "rack-32"
        or no_power_of_two
        or name.startswith(("repair", "flows"))
    )
    serial_ns = scenario.job.iterations * scenario.job.size_bytes * 8 * 10**9 // scenario.link.rate_bps
    assert serial_ns < 10**9 or name in ("demo", "accelerator-openflow", "jobs-8"), (
        "a built-in takes about two seconds, recovery included"
    )


def test_the_loss_case_table_is_covered():
    rows = {
        "data-first-lost", "message-only-first-lost", "data-middle-lost", "data-last-lost",
        "first-of-last-message-lost",
        "result-lost", "last-result-lost", "ack-lost", "nak-lost", "retransmission-lost-again", "tail-lost",
        "stale-duplicate", "network-duplicate", "reorder", "corruption", "psn-wrap", "rewind", "straggler",
        "straggler-too-late", "receiver-not-ready", "delayed-link", "link-flap", "switch-paused", "worker-paused",
        "dead-link", "switch-killed", "switch-restarted", "worker-killed", "rack", "rack-lossy", "rack-bursty",
        "rack-int32", "rack-send", "rack-jumbo", "ring", "shift", "spine-leaf-ring", "spine-leaf-ring-lossy",
        "fat-tree-ring",
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
        "switch-restarted", "worker-killed", "pfc-deadlock", "pfc-slots-deadlock", "pfc-storm",
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
