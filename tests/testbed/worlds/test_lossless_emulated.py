"""PFC with real frames between namespaces: what runs show, what captures hold, and what is refused."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from testbed.captures.pcapng import read_capture
from testbed.kernel.interruption import Interruption
from testbed.plan import make_plan
from testbed.runs.options import RunOptions
from testbed.runs.run import run_scenario
from testbed.scenario import load_scenario, parse_scenario
from testbed.worlds.emulated.dilation import lossless_dilation, refuse_dilation
from testbed.worlds.emulated.lossless import nodes
from testbed.worlds.emulated.refusals import refuse
from testbed.worlds.emulated.session import open_session
from tests.support.emulated import needs_root
from tests.support.passing import assert_passes
from workloads.errors import ScenarioError
from workloads.wire.pfc import decode_pfc

SMALL = """
name: small
topology: {kind: rack, hosts: 4, link: {rate: 100Mbps}}
job: {size: 40kB, message_packets: 16, window_messages: 4, hosts: [h1, h2]}
pfc: {model: static, threshold: 10kB, buffer: 200kB}
background:
  - {kind: udp, name: one, from: h3, to: h1, rate: 60Mbps, stop: 20ms}
  - {kind: udp, name: two, from: h4, to: h1, rate: 60Mbps, stop: 20ms}
time_limit: 2s
"""
FACTOR = 120
"""a frame takes 10 ms"""


def detail(document: dict[str, Any], name: str) -> tuple[str, str]:
    return next((check["verdict"], check["detail"]) for check in document["checks"] if check["name"] == name)


def refusal(text: str, dilation: int = FACTOR) -> str:
    plan = make_plan(replace(parse_scenario(text, "x.yaml"), dilation=dilation))
    with pytest.raises(ScenarioError) as caught:
        refuse(plan)
    return str(caught.value)


def test_what_sends_past_our_nodes_is_refused() -> None:
    tcp = SMALL.replace("kind: udp, name: one", "kind: tcp, name: one")
    assert refusal(tcp.replace("rate: 60Mbps, stop: 20ms}\n  - {kind: udp", "stop: 20ms}\n  - {kind: udp")) == (
        "scenario: background.one.kind: the kernel's TCP does not obey PFC; found tcp; allowed: udp"
    )


def test_hosts_that_come_back_and_sessions_are_refused(tmp_path: Path) -> None:
    killed = SMALL + "faults: [{kind: kill, name: gone, node: h2, from: 5ms, until: 9ms}]\n"
    assert refusal(killed).startswith("scenario: faults.gone.until: a host that comes back does not know which pauses")
    session = open_session(parse_scenario(SMALL, "x.yaml"), tmp_path, Interruption())
    with pytest.raises(ScenarioError, match="programs on hosts do not obey PFC"), session:
        pytest.fail("it opened")


def test_commodity_switches_and_devices_are_refused() -> None:
    plan = make_plan(replace(parse_scenario(SMALL, "x.yaml"), dilation=FACTOR))
    on_device = replace(plan, scenario=replace(plan.scenario, nics=(("h1", "mlx5_0"),)))
    with pytest.raises(ScenarioError, match=r"nics\.h1: a device does not obey PFC here; found mlx5_0; allowed: soft"):
        refuse(on_device)
    steered = """
name: steered
topology: {kind: rack_accelerator, hosts: 2, link: {rate: 40Mbps}, accelerator_link: {rate: 40Mbps}}
switch: {commodity: openflow}
job: {size: 40kB}
pfc: {buffer: 1MB}
"""
    assert refusal(steered) == ("scenario: switch.commodity: Open vSwitch does not obey PFC (s1); allowed: soft")


def test_a_rate_that_is_too_fast_for_pauses_is_refused_with_the_least_factor() -> None:
    plan = make_plan(replace(parse_scenario(SMALL, "x.yaml"), dilation=FACTOR))
    least = lossless_dilation(plan)
    refuse_dilation(plan)
    assert 40 < least <= FACTOR
    assert refusal(SMALL, least - 1).endswith(f"found {least - 1}; allowed: {least} or more; auto")
    faster = make_plan(replace(parse_scenario(SMALL.replace("100Mbps", "1Gbps"), "x.yaml"), dilation=FACTOR))
    assert lossless_dilation(faster) == pytest.approx(10 * least, rel=0.05)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], Path]:
    folder = tmp_path_factory.mktemp("small")
    scenario = replace(parse_scenario(SMALL, "small.yaml"), dilation=FACTOR)
    return run_scenario(scenario, folder / "run", pcap=True, options=RunOptions(twin=False)).document, folder / "run"


@pytest.mark.root
@pytest.mark.mininet
class TestRun:
    pytestmark = needs_root

    def test_an_overloaded_rack_loses_nothing(self, small: tuple[dict[str, Any], Path]) -> None:
        document, _ = small
        assert_passes(document)
        assert document["world"] == "emulated"
        assert "without PFC a buffer drops a packet" in detail(document, "pfc_lossless")[1]
        figures = document["metrics"]["pfc"]
        assert figures["pauses_asked"] > 2
        for link in ("h3-s1 up", "h4-s1 up"):
            assert figures["links"][link]["by_root"].keys() == {"h1-s1 down"}
            assert figures["links"][link]["paused_s"] > 0.002
        assert document["metrics"]["retransmissions"]["packets"] == 0

    def test_others_read_our_frames(self, small: tuple[dict[str, Any], Path]) -> None:
        """tshark and scapy, neither of them ours."""
        _, folder = small
        by_link = {
            path: [(frame, quanta) for frame in frames_of(path) if (quanta := decode_pfc(frame)) is not None]
            for path in (folder / "pcap").glob("*.pcapng")
        }
        assert {quanta[3] for times in by_link.values() for _, quanta in times} == {0, 65535}
        check_with_scapy([each for times in by_link.values() for each in times])
        if shutil.which("tshark") is None:
            pytest.skip("tshark is not installed")
        path = max(by_link, key=lambda each: len(by_link[each]))
        # The vector of classes, and the time of class 3
        assert read_with_tshark(path).split() == [f"0x0008,{quanta[3]}" for _, quanta in by_link[path]]


def frames_of(path: Path) -> Iterator[bytes]:
    yield from (frame.frame for frame in read_capture(path, []))


def read_with_tshark(path: Path) -> str:
    fields = ["-e", "macc.cbfc.enbv", "-e", "macc.cbfc.pause_time.c3"]
    command = ["tshark", "-r", str(path), "-Y", "macc.opcode == 0x0101", "-T", "fields", "-E", "separator=,", *fields]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout


def check_with_scapy(times: list[tuple[bytes, dict[int, int]]]) -> None:
    pytest.importorskip("scapy.all")
    from scapy.contrib.mac_control import MACControlClassBasedFlowControl
    from scapy.layers.l2 import Ether

    for frame, quanta in times:
        read = Ether(frame)
        control = read[MACControlClassBasedFlowControl]
        assert read.dst == "01:80:c2:00:00:01"
        assert (control.c3_enabled, control.c0_enabled, control.c3_pause_time) == (1, 0, quanta[3])


def built_in(name: str, folder: Path, *changes: str) -> dict[str, Any]:
    """At the least factor; virtual time does not judge how long it took."""
    scenario = replace(load_scenario(name, list(changes), world="emulated"), dilation=1)
    scenario = replace(scenario, dilation=lossless_dilation(make_plan(scenario)))
    return run_scenario(scenario, folder / "run", options=RunOptions(twin=False)).document


@pytest.mark.root
@pytest.mark.mininet
@pytest.mark.minutes
class TestWrong:
    pytestmark = needs_root

    def test_hosts_that_do_not_obey_are_found(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        obey = nodes.local.make_obey

        def deaf(wire: Any, pfc: Any, shape: Any, *, from_switch: bool, to_switch: bool) -> None:
            lossless = pfc.lossless if from_switch else ()
            obey(wire, replace(pfc, lossless=lossless), shape, from_switch=from_switch, to_switch=to_switch)

        monkeypatch.setattr(nodes.local, "make_obey", deaf)
        document = built_in("pfc-incast", tmp_path)
        assert detail(document, "pfc_lossless")[0] == "fail"
        assert document["metrics"]["pfc"]["dropped_lossless"] > 0

    def test_one_frame_of_headroom_less_loses_packets_where_the_exact_one_loses_none(self, tmp_path: Path) -> None:
        """A frame of 1,082 B nearly fills an MTU of 1,096 B. In real time a late node may be what is to blame."""
        exact = built_in("pfc-incast", tmp_path / "exact", "topology.link.mtu=1096")
        assert exact["metrics"]["pfc"]["dropped_lossless"] == 0
        given = next(iter(exact["metrics"]["pfc"]["headroom"].values()))["bytes"]
        change = f"pfc.headroom={given - 1110}B"
        less = built_in("pfc-incast", tmp_path / "less", "topology.link.mtu=1096", change)
        assert less["metrics"]["pfc"]["dropped_lossless"] > 0
        assert detail(less, "pfc_lossless")[0] in ("fail", "unknown")


EXPECTED = {
    "pfc-incast": ("pass", "pfc_lossless", "pass", "without PFC a buffer drops a packet"),
    "pfc-victim": ("pass", "pfc_pause_time", "pass", "of head-of-line blocking"),
    "pfc-storm": ("fail", "liveness", "fail", "3 of 3 workers did not finish"),
    "pfc-storm-watchdog": ("pass", "pfc_lossless", "pass", "watchdogs dropped"),
    "pfc-deadlock": ("fail", "pfc_deadlock", "fail", "s1-s2 up class 3 -> s2-s3 up class 3 -> s3-s4 up class 3"),
    "pfc-slots-deadlock": ("fail", "pfc_deadlock", "fail", "s1-a1-1 up class 3 (slots of a1)"),
    "pfc-slots": ("pass", "pfc_deadlock", "pass", ""),
    "pfc-netreduce": ("pass", "pfc_lossless", "pass", "lost nothing"),
}


@pytest.mark.root
@pytest.mark.mininet
@pytest.mark.minutes
@pytest.mark.parametrize("name", EXPECTED)
def test_built_in_scenarios_show_what_they_say(name: str, tmp_path: Path) -> None:
    verdict, check, of_check, text = EXPECTED[name]
    document = built_in(name, tmp_path)
    assert document["verdict"] == verdict, [each["detail"] for each in document["checks"]][:12]
    assert detail(document, check)[0] == of_check
    assert text in detail(document, check)[1]
