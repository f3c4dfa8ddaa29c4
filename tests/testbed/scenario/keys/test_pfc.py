"""The section `pfc`: what is read is written, and the limits of each model."""

import dataclasses

import pytest

from switch_nodes.lossless.buffer import FIXED
from switch_nodes.lossless.headroom import exact_headroom
from testbed.estimate.headroom import headroom_needs, headroom_warnings, kept_bytes
from testbed.faults.model import PauseStorm, Window
from testbed.scenario import dump_scenario, parse_scenario
from testbed.scenario.keys.pfc import Pfc, PfcWatchdog
from testbed.scenario.lossless import buffer_of, limits_of, receive_buffer, resume_below

_BASE = """name: full
world: simulated
topology:
  kind: rack
  hosts: 3
  link: {rate: 10Gbps, delay: 2us, mtu: 1486}
  links: {h3-s1: {rate: 40Gbps}}
"""
_ALL = """pfc:
  model: static
  buffer: 300kB
  threshold: 20kB
  headroom: 9kB
  resume_below: 4kB
  response_time: 700ns
  quanta: 900
  classes: [5, 3, 3, 0]
  lossless: [3, 5]
  receivers: {h2: 50Mbps}
  receive_queue: 12kB
  watchdog: {action: alert, detect: 3ms, restore: 4ms, poll: 1ms}
switch: {slot_memory: shared}
faults: [{kind: pause_storm, name: storm, node: h2, class: 5, from: 2ms, until: 3ms}]
"""


def scenario_of(pfc):
    return parse_scenario(f"{_BASE}pfc: {{{pfc}}}\n", "x.yaml")


def test_every_key_arrives_and_is_written_back():
    scenario = parse_scenario(_BASE + _ALL, "full.yaml")
    assert scenario.pfc == Pfc(
        "static", 300_000, 20_000, None, 9_000, 4_000, 700, 900, (5, 3, 3, 0), (3, 5), (("h2", 50_000_000),), 12_000,
        PfcWatchdog("alert", 3_000_000, 4_000_000, 1_000_000),
    )  # fmt: skip
    assert scenario.switch.slot_memory == "shared"
    assert scenario.faults == (PauseStorm("storm", "h2", Window(2_000_000, 3_000_000), 5),)
    assert scenario.worlds == ("emulated", "simulated")
    assert parse_scenario(dump_scenario(scenario), "copy.yaml") == scenario


def test_without_the_section_there_is_no_pfc():
    scenario = parse_scenario(_BASE, "x.yaml")
    assert scenario.pfc is None
    assert parse_scenario(dump_scenario(scenario), "copy.yaml") == scenario
    assert (headroom_needs(scenario), kept_bytes(scenario), list(headroom_warnings(scenario))) == ((), 0, [])


def limits(pfc):
    scenario = scenario_of(pfc)
    found = limits_of(scenario.pfc, scenario.topology, "s1")
    return [found[port, 3] for port in (0, 2)], resume_below(scenario.pfc, scenario.topology)


@pytest.mark.parametrize(
    ("pfc", "slow", "fast", "resume"),
    [
        # (headroom, threshold, share, reserve) at 10 Gbit/s and at 40 Gbit/s
        (
            "model: static, threshold: 20kB",
            (exact_headroom(10**10, 2000, 1500, 3072), 20_000, FIXED, 1, 0),
            (exact_headroom(4 * 10**10, 2000, 1500, 1511), 20_000, FIXED, 1, 0),
            3_000,
        ),
        (
            "alpha: 0.25",
            (exact_headroom(10**10, 2000, 1500, 3072), 0, 1, 4, 0),
            (exact_headroom(4 * 10**10, 2000, 1500, 1511), 0, 1, 4, 0),
            3_000,
        ),
        ("model: hpcc", (7_500, 0, 1, 8, 4096), (30_000, 0, 1, 2, 4096), 3_072),
        ("model: conweave", (8_000, 0, 1, 16, 0), (23_000, 0, 1, 16, 0), 3_000),
        ("model: conweave, alpha: 2, headroom: 5kB, resume_below: 99B", (5_000, 0, 2, 1, 0), (5_000, 0, 2, 1, 0), 99),
    ],
)
def test_models(pfc, slow, fast, resume):
    found, below = limits(pfc)
    assert [dataclasses.astuple(each)[:-1] for each in found] == [slow, fast]
    assert all(each.is_lossless for each in found)
    assert below == resume


def test_a_lossy_class_has_no_headroom():
    scenario = scenario_of("classes: [3, 3, 3, 1]")
    found = limits_of(scenario.pfc, scenario.topology, "s1")
    assert (found[0, 1].headroom, found[0, 1].is_lossless) == (0, False)
    shared = 4 * 2**20 - sum(each.headroom for each in found.values())
    assert buffer_of(scenario.pfc, scenario.topology, "s1").shared_bytes == shared
    assert kept_bytes(scenario) == sum(each.headroom for each in found.values())


def test_a_receive_queue_has_exact_headroom_behind_it():
    scenario = scenario_of("receivers: {h3: 1Gbps}, receive_queue: 9kB")
    buffer = receive_buffer(scenario.pfc, scenario.topology, "h3")
    (account,) = buffer.accounts.values()
    assert (account.limits.threshold, buffer.shared_bytes) == (9_000, 9_000)
    assert account.limits.headroom == exact_headroom(4 * 10**10, 2000, 1500, 1511)


def test_too_little_headroom_is_warned_about_by_links():
    scenario = scenario_of("headroom: 20kB")
    slow, fast = headroom_needs(scenario)
    assert (slow.links, fast.links) == (("h1-s1", "h2-s1"), ("h3-s1",))
    assert [need.given for need in (slow, fast)] == [20_000, 20_000]
    assert slow.exact < 20_000 < fast.exact
    (text,) = headroom_warnings(scenario)
    assert text == (
        f"x.yaml: pfc: h3-s1 has 20,000 B of headroom and needs {fast.exact:,} B: a lossless class may lose packets"
    )
