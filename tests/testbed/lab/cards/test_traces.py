import struct
from dataclasses import replace

import pytest

from switch_nodes.fpga.golden import Output, TimedFrame
from testbed.lab.cards.traces import read_trace, write_trace
from testbed.scenario import load_scenario
from testbed.worlds.simulated.switch_trace import scenario_trace
from tests.support.cards import card_config, job_trace
from tests.support.netreduce_harness import small_job
from workloads.errors import ScenarioError

JOB = small_job()
CONFIG, TRACE = card_config(), job_trace(JOB)


def pcap(path, frames, order="<", magic=0xA1B2C3D4, scale=1000, linktype=1, cut=0):
    data = struct.pack(order + "IHHiIII", magic, 2, 4, 0, 0, 65535, linktype)
    for item in frames:
        seconds, rest = divmod(item.time_ns, 10**9)
        data += struct.pack(order + "IIII", seconds, rest // scale, len(item.frame) - cut, len(item.frame))
        data += item.frame[: len(item.frame) - cut]
    path.write_bytes(data)
    return path


def test_pcapng_interfaces_are_ports_and_what_left_is_left_out(tmp_path):
    path = tmp_path / "t.pcapng"
    write_trace(path, 3, TRACE, outgoing=False, when=lambda step: 0)
    assert read_trace(path, CONFIG) == TRACE
    write_trace(path, 3, [Output(0, 1, TRACE[0].frame)], outgoing=True, when=lambda step: 7)
    with pytest.raises(ScenarioError, match="holds no frame that goes into the switch"):
        read_trace(path, CONFIG)


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize(("magic", "scale"), [(0xA1B2C3D4, 1000), (0xA1B23C4D, 1)])
def test_pcap_finds_ports_by_source(tmp_path, order, magic, scale):
    path = pcap(tmp_path / "t.pcap", TRACE, order, magic, scale)
    assert [(item.port, item.frame) for item in read_trace(path, CONFIG)] == [
        (dict(CONFIG.macs)[item.frame[6:12]], item.frame) for item in TRACE
    ]
    assert read_trace(path, CONFIG)[-1].time_ns == TRACE[-1].time_ns


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda path: path, "cannot be read; found No such file or directory; allowed: pcapng, pcap"),
        (lambda path: path.write_bytes(b"rubbish, not a capture"), "cannot be read; found"),
        (lambda path: pcap(path, TRACE, linktype=113), "is no capture of Ethernet; found link type 113"),
        (lambda path: pcap(path, TRACE, cut=9), "frame 0 was cut off by the capture"),
        (lambda path: pcap(path, [replace(TRACE[0], frame=bytes(60))]),
            "frame 0 is from a MAC whose port is not known; found 00:00:00:00:00:00"),
        (lambda path: write_trace(path, 4, [replace(TRACE[0], port=3)], outgoing=False, when=lambda step: 0),
            "frame 0 is of interface 3; allowed: one interface per port, 0 .. 2"),
        (lambda path: pcap(path, []), "holds no frame"),
    ],
)  # fmt: skip
def test_what_cannot_be_read(tmp_path, make, text):
    path = tmp_path / "t.pcap"
    make(path)
    with pytest.raises(ScenarioError) as caught:
        read_trace(path, CONFIG)
    assert text in str(caught.value)
    assert caught.value.file == str(path)


def test_a_scenario_gives_what_its_switch_gets():
    config, frames = scenario_trace(load_scenario("rack", ["job.size=20kB", "topology.hosts=2"], 1, "simulated"))
    assert (config.name, config.ports, len(config.rings)) == ("s1", 2, 1)
    assert {item.port for item in frames} == {0, 1}
    assert all(isinstance(item, TimedFrame) for item in frames)
    assert [item.time_ns for item in frames] == sorted(item.time_ns for item in frames)


def test_a_scenario_without_sums_gives_nothing():
    with pytest.raises(ScenarioError, match="no switch sums in this scenario"):
        scenario_trace(load_scenario("ring", [], 1, "simulated"))
