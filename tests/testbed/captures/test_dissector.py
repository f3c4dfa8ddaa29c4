"""Wireshark shows what our codecs read: tshark with our dissector, on captures of simulated runs of every protocol."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

from testbed.captures.dissector import dissector
from testbed.captures.pcapng import read_capture
from testbed.runs.run import run_scenario
from testbed.scenario import load_scenario
from testbed.scenario.protocols.named import protocol_names
from testbed.scenario.protocols.names import RECOVERIES
from workloads.collectives.ina_header import INA_LAYOUT, InaHeader
from workloads.wire import WireError, decode_packet
from workloads.wire.aggregation import AGGREGATION, decode_datagram
from workloads.wire.held_map import decode_held_map

_SHORTER = {
    "strategy-lossy": ("job.divide=10",),
    "grid": (),
    "rack-lossy": ("job.size=400kB",),
    "irn-lossy": ("job.size=100kB",),
    "congested": ("job.size=100kB", "topology.link.ecn_threshold=5"),
    "spine-leaf-lossy": ("job.size=100kB",),
    "rack-send": ("job.size=400kB",),
}
pytestmark = pytest.mark.programs


def capture_of(scenario: str, folder: Path, *changes: str) -> Path:
    """Of the first host's link, in a simulated run."""
    out = folder / "run"
    run_scenario(load_scenario(scenario, changes, 1, "simulated"), out, pcap=True)
    return min((out / "pcap").rglob("*.pcapng"))


def tshark(script: Path, capture: Path, *options: str) -> str:
    """Beside it no plug-in of this user is read: one of another version may be installed."""
    command = ["tshark", "-X", f"lua_script:{script}", "-r", str(capture), *options]
    home = os.environ | {"HOME": str(script.parent)}
    run = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True, env=home)
    assert "Lua" not in run.stderr, run.stderr
    return run.stdout


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("lua") / "ina.lua"
    path.write_text(dissector(), encoding="utf-8")
    return path


def column(fields: dict[str, list[str]], name: str) -> int:
    return int(fields[name][0], 0)


def shown(script: Path, capture: Path, layer: str, names: list[str]) -> list[dict[str, list[str]]]:
    """Fields of each packet that has the layer's first field."""
    text = tshark(
        script, capture, "-Y", f"{layer}.{names[0]}", "-T", "json", *(x for n in names for x in ("-e", f"{layer}.{n}"))
    )
    return [packet["_source"]["layers"] for packet in json.loads(text)]


def test_the_ina_header_is_shown_as_the_codec_reads_it(script: Path, tmp_path: Path) -> None:
    capture = capture_of("rack", tmp_path, "job.size=40kB", "job.message_packets=4", "topology.hosts=2")
    headers = []
    for captured in read_capture(capture):
        packet = decode_packet(captured.frame)
        try:
            headers.append(InaHeader.decode(packet.payload))
        except WireError:
            continue
    assert len(headers) > 20
    names = [field.name for field in INA_LAYOUT.fields]
    found = shown(script, capture, "ina", names)
    assert len(found) == len(headers)
    for fields, header in zip(found, headers, strict=True):
        for name in ("ring_id", "rank", "size", "msg_id", "msg_len_pkts", "op", "dtype"):
            assert column(fields, f"ina.{name}") == getattr(header, name)
        assert [column(fields, f"ina.{name}") for name in ("magic", "version", "end", "agg")] == [
            0xA7, 1, int(header.end), int(header.agg),
        ]  # fmt: skip


@pytest.mark.parametrize("scenario", ["switchml", "esa"])
def test_a_datagram_is_shown_as_the_codec_reads_it(scenario: str, script: Path, tmp_path: Path) -> None:
    capture = capture_of(scenario, tmp_path, "job.size=40kB")
    datagrams = [datagram for captured in read_capture(capture) if (datagram := decode_datagram(captured.frame))]
    names = [field.name for field in AGGREGATION.fields if field.name not in ("version", "server")]
    found = shown(script, capture, "inadgram", names)
    assert len(found) == len(datagrams) > 100
    for fields, datagram in zip(found, datagrams, strict=True):
        assert {name: column(fields, f"inadgram.{name}") for name in names} == {
            name: int(getattr(datagram.header, name)) for name in names
        }


_EVERY = (
    "rack-lossy", "irn-lossy", "irn-held-spine-leaf-lossy",
    "irn-rack-ring-sprayed", "rack-send", "spine-leaf-lossy", "congested", "hierarchical",
    "hierarchical-tencent", "shift", "ring", "switchml-lossy", "switchml-uc", "atp-lossy", "esa-lossy", "grid",
    "recursive-doubling-lossy", "rabenseifner-lossy", "binomial-tree-lossy", "sharded-ps-lossy", "strategy-lossy",
    "ps-lossy", "repair-lossy", "dlcp-ina-lossy", "all-to-all-lossy", "barrier-lossy", "flows-incast",
)  # fmt: skip
_GRADIENTS_ALONE = (
    "ring", "irn-rack-ring-sprayed", "hierarchical", "hierarchical-tencent", "recursive-doubling-lossy",
    "rabenseifner-lossy", "binomial-tree-lossy", "sharded-ps-lossy", "strategy-lossy", "all-to-all-lossy",
    "barrier-lossy", "flows-incast",
)  # fmt: skip


@pytest.mark.parametrize("scenario", _EVERY)
def test_nothing_is_malformed_and_no_payload_of_ours_is_left_as_bytes(
    scenario: str, script: Path, tmp_path: Path
) -> None:
    capture = capture_of(scenario, tmp_path, *_SHORTER.get(scenario, ("job.size=40kB",)))
    # A ring, also one inside a machine, sends gradients alone: nothing in a packet says that they are elements.
    left = "" if scenario in _GRADIENTS_ALONE else "data || "
    assert tshark(script, capture, "-Y", f"{left}_ws.malformed || _ws.lua.error") == ""
    assert tshark(script, capture, "-c", "1") != ""


def test_it_may_be_read_twice(script: Path, tmp_path: Path) -> None:
    capture = capture_of("rack-lossy", tmp_path, "job.size=40kB")
    again = tshark(script, capture, "-X", f"lua_script:{script}", "-Y", "ina")
    assert again == tshark(script, capture, "-Y", "ina") != ""


def test_every_protocol_is_among_those() -> None:
    scenarios = [load_scenario(name) for name in _EVERY]
    # A trace comes from a file of the user's; its packets are those of its communications.
    assert {scenario.job.protocol for scenario in scenarios} == set(protocol_names()) - {"trace_file"}
    assert {scenario.transport.recovery for scenario in scenarios} == set(RECOVERIES)


def test_elements_are_shown_in_their_own_type_and_byte_order(script: Path, tmp_path: Path) -> None:
    capture = capture_of("rack", tmp_path, "job.size=40kB", "topology.hosts=2", "faults=[]")
    middle = "infiniband.bth.opcode == 7"
    text = tshark(script, capture, "-Y", middle, "-c", "40", "-T", "fields", "-e", "ina.element.float32")
    packets = [
        packet for captured in read_capture(capture) if (packet := decode_packet(captured.frame)).bth.opcode == 7
    ]
    lines = text.splitlines()
    assert len(lines) > 10
    for line, packet in zip(lines, packets, strict=False):
        assert np.array(line.split(","), np.float32) == pytest.approx(np.frombuffer(packet.payload, "<f4"), rel=1e-4)


def test_an_answer_of_irn_is_shown_as_the_codec_reads_it(script: Path, tmp_path: Path) -> None:
    capture = capture_of("irn-lossy", tmp_path, "job.size=100kB")
    packets = [packet for captured in read_capture(capture) if (packet := decode_packet(captured.frame)).sack]
    found = shown(script, capture, "inairn", ["syndrome", "msn", "cumulative", "selective"])
    assert len(found) == len(packets) > 100
    for fields, packet in zip(found, packets, strict=True):
        told = [column(fields, f"inairn.{name}") for name in ("syndrome", "msn", "cumulative", "selective")]
        assert told == [packet.aeth.syndrome, packet.aeth.msn, packet.sack.cumulative, packet.sack.selective]
    assert {packet.aeth.syndrome for packet in packets} == {0, 0x60}


def test_a_map_is_shown_as_the_codec_reads_it(script: Path, tmp_path: Path) -> None:
    capture = capture_of("irn-held-spine-leaf-lossy", tmp_path, "job.size=100kB")
    packets = [decode_packet(captured.frame) for captured in read_capture(capture)]
    maps = [held for packet in packets if packet.sack and (held := decode_held_map(packet.payload))]
    found = shown(script, capture, "inaheld", ["packets", "first", "newest", "bits"])
    assert len(found) == len(maps) > 10
    for fields, held in zip(found, maps, strict=True):
        told = [column(fields, f"inaheld.{name}") for name in ("packets", "first", "newest", "bits")]
        assert told == [held.packets - 1, held.first, held.newest, held.bits]


def test_later_packets_of_a_message_under_irn_are_elements(script: Path, tmp_path: Path) -> None:
    capture = capture_of("irn-lossy", tmp_path, "job.size=40kB", "faults=[]")
    text = tshark(
        script, capture, "-Y", "infiniband.bth.opcode == 10", "-c", "40", "-T", "fields", "-e", "ina.element.float32"
    )
    packets = [p for captured in read_capture(capture) if (p := decode_packet(captured.frame)).bth.opcode == 10]
    assert len(text.splitlines()) > 10
    for line, packet in zip(text.splitlines(), packets, strict=False):
        assert np.array(line.split(","), np.float32) == pytest.approx(np.frombuffer(packet.payload, "<f4"), rel=1e-4)
