"""The built-in scenarios of lossless fabrics show what they say, and real frames are in the captures."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from testbed.captures.pcapng import read_capture
from testbed.runs.run import run_scenario
from testbed.scenario import load_scenario
from tests.support.passing import assert_passes
from workloads.wire.pfc import decode_pfc


def document_of(name: str, folder: Path, *changes: str, pcap: bool = False) -> dict[str, Any]:
    return run_scenario(load_scenario(name, list(changes)), folder / "run", pcap=pcap).document


def detail(document: dict[str, Any], name: str) -> tuple[str, str]:
    return next((check["verdict"], check["detail"]) for check in document["checks"] if check["name"] == name)


@pytest.fixture(scope="module")
def incast(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], Path]:
    folder = tmp_path_factory.mktemp("incast")
    return document_of("pfc-incast", folder, pcap=True), folder


def test_incast_loses_nothing_with_pfc(incast: tuple[dict[str, Any], Path], tmp_path: Path) -> None:
    document, _ = incast
    assert_passes(document)
    assert detail(document, "pfc_lossless")[1].count("without PFC a buffer drops a packet") == 1
    lossy = document_of("incast-lossy", tmp_path)
    assert_passes(lossy)
    assert document["metrics"]["retransmissions"]["packets"] == 0 < lossy["metrics"]["retransmissions"]["packets"]
    assert 5 * document["metrics"]["jct_s"] < lossy["metrics"]["jct_s"]
    assert document["metrics"]["jct"]["parts"]["paused"] > 0.02
    figures = document["metrics"]["pfc"]
    assert figures["pauses_asked"] > 50
    assert sum(link["pauses"] for link in figures["links"].values()) > 20


def frames(folder: Path) -> Iterator[bytes]:
    for path in (folder / "run" / "pcap").rglob("*.pcapng"):
        yield from (frame.frame for frame in read_capture(path, []))


def test_captures_hold_pfc_frames_that_others_can_read(incast: tuple[dict[str, Any], Path]) -> None:
    _, folder = incast
    times = [quanta for frame in frames(folder) if (quanta := decode_pfc(frame)) is not None]
    assert {tuple(quanta) for quanta in times} == {(3,)}
    assert {quanta[3] for quanta in times} == {0, 65535}
    if shutil.which("tshark") is None:
        return
    told = ""
    for path in (folder / "run" / "pcap").rglob("*.pcapng"):
        command = ["tshark", "-r", str(path), "-Y", "macc.opcode == 0x0101", "-T", "fields", "-e", "macc.cbfc.enbv"]
        told += subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    assert len(told.split()) == len(times)


def test_a_victim_is_named(tmp_path: Path) -> None:
    document = document_of("pfc-victim", tmp_path)
    assert_passes(document)
    victims = document["metrics"]["pfc"]["victims"]
    assert {victim["flow"] for victim in victims} == {"10.77.0.4>10.77.0.7"}
    assert {victim["root"] for victim in victims} == {"h4-leaf2 down"}
    alone = document_of("pfc-victim", tmp_path / "alone", "background=[]")
    assert alone["metrics"]["pfc"]["victims"] == []
    assert alone["metrics"]["jct_s"] < 0.8 * document["metrics"]["jct_s"]


def test_a_storm_stops_the_job_and_a_watchdog_saves_it(tmp_path: Path) -> None:
    storm = document_of("pfc-storm", tmp_path / "storm")
    assert storm["verdict"] == "fail"
    assert detail(storm, "liveness")[0] == "fail"
    assert detail(storm, "pfc_deadlock")[0] == "pass"
    assert storm["metrics"]["pfc"]["links"]["h1-s1 up"]["by_root"].keys() == {"storm of h4"}
    saved = document_of("pfc-storm-watchdog", tmp_path / "saved")
    assert_passes(saved)
    assert saved["metrics"]["pfc"]["watchdog_acted"] == 1
    # 20 Mbit/s in frames of 1,042 B: 2,400 in a second, from the start of the storm until the end of the run
    figures = saved["metrics"]["pfc"]
    assert figures["watchdog_dropped"] == pytest.approx(2400 * figures["links"]["h4-s1 down"]["paused_s"], rel=0.02)


@pytest.mark.parametrize("action", ["forward", "alert"])
def test_the_watchdog_forwards_or_only_reports(action: str, tmp_path: Path) -> None:
    document = document_of("pfc-storm-watchdog", tmp_path, f"pfc.watchdog.action={action}", "time_limit=300ms")
    assert document["metrics"]["pfc"]["watchdog_acted"] == 1
    assert (detail(document, "liveness")[0] == "pass") is (action == "forward")


def test_the_watchdog_lets_go_when_the_storm_is_over(tmp_path: Path) -> None:
    text = "faults=[{kind: pause_storm, node: h4, from: 5ms, until: 40ms}]"
    document = document_of("pfc-storm-watchdog", tmp_path, text)
    assert_passes(document)
    figures = document["metrics"]["pfc"]
    assert (figures["watchdog_acted"], figures["watchdog_restored"]) == (1, 1)


def test_a_storm_that_holds_nothing_up_is_not_exercised(tmp_path: Path) -> None:
    text = "faults=[{kind: pause_storm, node: h4, class: 3, from: 5ms, until: 5010us}]"
    document = document_of("pfc-storm", tmp_path, text, "background.to-the-broken.start=20ms")
    assert document["faults"][0]["strikes"] == 0
    assert detail(document, "faults_exercised")[0] == "unknown"


def test_a_circle_of_five_switches_is_printed(tmp_path: Path) -> None:
    document = document_of("pfc-deadlock", tmp_path)
    verdict, text = detail(document, "pfc_deadlock")
    assert verdict == document["verdict"] == "fail"
    links = [f"s{number}-s{number % 5 + 1} up class 3" for number in range(1, 6)]
    assert text.endswith(" -> ".join((*links, links[0])))
    assert document["metrics"]["pfc"]["deadlock"] == links


def test_slots_that_charge_ports_deadlock_and_slots_of_their_own_do_not(tmp_path: Path) -> None:
    document = document_of("pfc-slots-deadlock", tmp_path / "deadlock")
    assert detail(document, "pfc_deadlock") == (
        "fail",
        (
            "a paused link waits for packets that must come over itself since 28.0372 ms at the latest: "
            "s1-a1-1 up class 3 (slots of a1)"
        ),
    )
    cured = document_of("pfc-slots", tmp_path / "cured")
    assert_passes(cured)
    assert cured["metrics"]["pfc"]["pauses_asked"] > 0
    same = document_of("pfc-slots-deadlock", tmp_path / "same", "switch.slot_memory=own")
    assert_passes(same)


def test_netreduce_over_a_lossless_rack_sends_nothing_twice(tmp_path: Path) -> None:
    document = document_of("pfc-netreduce", tmp_path)
    assert_passes(document)
    assert document["metrics"]["retransmissions"]["packets"] == 0
    assert document["metrics"]["lost_data_packets"] == 0
    assert detail(document, "pfc_lossless")[0] == "pass"


def test_headroom_that_is_too_small_is_a_finding_with_what_was_missing(tmp_path: Path) -> None:
    pfc = "{model: static, threshold: 6001B, headroom: 1500B, buffer: 48kB}"
    document = document_of("pfc-incast", tmp_path, f"pfc={pfc}")
    verdict, text = detail(document, "pfc_lossless")
    assert verdict == document["verdict"] == "fail"
    assert "B of headroom were missing" in text
    assert document["metrics"]["pfc"]["dropped_lossless"] > 0


def test_pfc_that_never_engages_is_unknown(tmp_path: Path) -> None:
    document = document_of("pfc-incast", tmp_path, "pfc.buffer=4MB", "job.size=20kB")
    assert detail(document, "pfc_lossless") == ("unknown", "PFC never engaged: no buffer reached its threshold")
