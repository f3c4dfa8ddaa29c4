"""The edge to pyverbs, on a pyverbs that only notes; what a kernel makes of it is the business of `tb interop`."""

from __future__ import annotations

import socket
import sys

import pytest

from tests.support.fake_pyverbs import MEMORY, PERMISSION, UNREACHABLE, FakeError, completion, fake_pyverbs
from workloads.config import QpConfig
from workloads.errors import HostCapabilityError
from workloads.verbs import Region, WorkCompletion, libibverbs
from workloads.verbs.libibverbs import VerbsNic, load_pyverbs
from workloads.wire import Envelope

A, B = bytes((10, 77, 0, 1)), bytes((10, 77, 0, 2))
CONFIG = QpConfig(
    1, 2, Envelope(bytes(6), bytes(6), A, B, tos=2), 0xFFFFF0, 77, path_mtu=1024, timeout_code=17, retry_count=6,
    rnr_retry=3, rnr_timer_code=14,
)  # fmt: skip
REGION = Region(0x7000, 5, 6)


@pytest.fixture
def nic(tmp_path, monkeypatch):
    """Opens rxe0 on a fake pyverbs with the options given."""
    port = tmp_path / "rxe0" / "ports" / "1"
    for folder, value in (
        ("gids", "0000:0000:0000:0000:0000:ffff:0a4d:0001"), ("gid_attrs/types", "RoCE v2"),
        ("gid_attrs/ndevs", "eth0"),
    ):  # fmt: skip
        (port / folder).mkdir(parents=True)
        (port / folder / "3").write_text(value)
        for empty in range(3):
            (port / folder / str(empty)).write_text("0000:" * 7 + "0000" if folder == "gids" else "")
    (port / "hw_counters").mkdir()
    (port / "hw_counters" / "sent_pkts").write_text("41\n")
    (port / "hw_counters" / "lifespan").write_text("10\n")

    def make(**options):
        fake = fake_pyverbs(**options)
        monkeypatch.setattr(libibverbs, "load_pyverbs", lambda: fake)
        return VerbsNic("rxe0", A, sysfs=tmp_path), fake

    return make


def test_a_queue_pair_gets_what_its_configuration_says(nic):
    qps = []
    opened, _ = nic(qps=qps)
    assert opened.create_qp(CONFIG) == 0x11
    opened.connect(0x11, CONFIG, 0x99)
    told = qps[0].attributes
    assert (told.dest_qp_num, told.sq_psn, told.rq_psn) == (0x99, 0xFFFFF0, 77)
    assert (told.timeout, told.retry_cnt, told.rnr_retry, told.min_rnr_timer, told.path_mtu) == (17, 6, 3, 14, 3)
    route = told.ah_attr.gr
    assert (route.sgid_index, route.traffic_class) == (3, 2)
    assert route.dgid == "0000:0000:0000:0000:0000:ffff:0a4d:0002"
    assert opened.depth == 100  # of the device, less than ours


@pytest.mark.parametrize(
    ("imm", "target", "opcode"), [(None, None, 2), (7, None, 3), (None, (0x9000, 8), 0), (7, (0x9000, 8), 1)]
)
def test_requests_are_posted_and_their_memory_is_given_back(nic, imm, target, opcode):
    qps = []
    opened, _ = nic(qps=qps)
    opened.create_qp(CONFIG)
    opened.post_send(0x11, 4, (REGION, 100), imm, target)
    (request,) = qps[0].sent
    assert request.options["opcode"] == opcode
    assert request.options["imm_data"] == socket.htonl(imm or 0)
    assert request.options["sg"][0].args == (0x7000, 100, 5)
    assert request.remote == (None if target is None else (8, 0x9000))
    assert (request.closed, request.options["sg"][0].closed) == (1, 1)


def test_a_receive_names_its_part_of_the_region(nic):
    qps = []
    opened, _ = nic(qps=qps)
    opened.create_qp(CONFIG)
    opened.post_receive(0x11, 4, REGION, 64, 32)
    assert qps[0].received[0].options["sg"][0].args == (0x7040, 32, 5)


def test_completions_are_told_in_our_words(nic):
    opened, fake = nic()
    sends, receives = fake.cq.CQ.made
    sends.entries = [completion(0x11, 1), completion(0x11, 2, 12), completion(0x11, 3, 5), completion(0x11, 4, 7)]
    receives.entries = [completion(0x12, 1, imm=258, length=16), completion(0x12, 2, length=8), completion(0x12, 3, 99)]
    assert opened.poll() == [
        WorkCompletion(0x11, 1, False, "SUCCESS"),
        WorkCompletion(0x11, 2, False, "RETRY_EXC"),
        WorkCompletion(0x11, 3, False, "FLUSH"),
        WorkCompletion(0x11, 4, False, "BAD_RESP_ERR"),
        WorkCompletion(0x12, 1, True, "SUCCESS", 16, 258),
        WorkCompletion(0x12, 2, True, "SUCCESS", 8),
        WorkCompletion(0x12, 3, True, "status 99"),
    ]
    assert opened.poll() == []


def test_counters_are_those_of_the_kernel(nic):
    assert nic()[0].counters() == {"sent_pkts": 41}


def test_closing_closes_all_once(nic):
    qps = []
    opened, _ = nic(qps=qps)
    opened.create_qp(CONFIG)
    opened.register(memoryview(bytearray(64)), remote=True)
    opened.close()
    assert qps[0].closed == 1


@pytest.mark.parametrize(
    ("options", "act", "text"),
    [
        (
            {"fail": ("Context", PERMISSION)},
            lambda nic: None,
            (
                "this machine lacks what it takes to open the device (rxe0: Failed to do Context. Errno: 13, "
                "Permission denied); "
                "run as root, or get access to /dev/infiniband/uverbs*"
            ),
        ),
        (
            {"active_mtu": 2},
            lambda nic: nic.create_qp(CONFIG),
            (
                "this machine lacks a path MTU of 1024 on rxe0 (its port has 512); an interface MTU of at least 1128 "
                "allows it"
            ),
        ),
        (
            {"fail": ("MR", MEMORY)},
            lambda nic: nic.register(memoryview(bytearray(64)), remote=False),
            (
                "this machine lacks what it takes to register 64 bytes (rxe0: Failed to do MR. Errno: 12, Cannot "
                "allocate "
                "memory); `ulimit -l` is how much memory may be registered"
            ),
        ),
        (
            {"fail": ("to_rts", UNREACHABLE)},
            lambda nic: nic.connect(nic.create_qp(CONFIG), CONFIG, 1),
            (
                "this machine lacks what it takes to connect to 10.77.0.2 (rxe0: Failed to do to_rts. Errno: 110, "
                "Connection "
                "timed out); no host answers ARP for that address: is the peer up, does the switch forward?"
            ),
        ),
        (
            {"fail": ("post_send", MEMORY)},
            lambda nic: nic.post_send(nic.create_qp(CONFIG), 3, (REGION, 1), None, None),
            (
                "this machine lacks what it takes to post message 3 (rxe0: Failed to do post_send. Errno: 12, Cannot "
                "allocate "
                "memory); its queue is full"
            ),
        ),
    ],
)
def test_refusals_say_what_would_help(nic, options, act, text):
    with pytest.raises(HostCapabilityError) as caught:
        act(nic(**options)[0])
    assert str(caught.value) == text


def test_without_pyverbs_the_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyverbs", None)
    with pytest.raises(HostCapabilityError, match="apt-get install rdma-core python3-pyverbs"):
        load_pyverbs()


def test_the_real_pyverbs_has_all_that_is_called_and_all_words():
    """Loading needs no device."""
    pytest.importorskip("pyverbs.enums", reason="python3-pyverbs is not installed")
    real = load_pyverbs()
    for status in libibverbs.STATUS:
        assert hasattr(real.e, f"IBV_WC_{status}")
    for module, names in {
        "device": ["Context"], "pd": ["PD"], "cq": ["CQ"], "mr": ["MR"], "qp": ["QP", "QPCap", "QPInitAttr", "QPAttr"],
        "wr": ["SGE", "SendWR", "RecvWR"], "addr": ["GID", "GlobalRoute", "AHAttr"],
    }.items():  # fmt: skip
        for name in names:
            assert hasattr(getattr(real, module), name)
    attributes = real.qp.QPAttr(port_num=1)
    for name in ("sq_psn", "rq_psn", "dest_qp_num", "timeout", "retry_cnt", "rnr_retry", "min_rnr_timer"):
        setattr(attributes, name, 3)
        assert getattr(attributes, name) == 3


@pytest.mark.parametrize(("lost", "code", "asked"), [(4, UNREACHABLE, 5), (0, UNREACHABLE, 1), (1, PERMISSION, 1)])
def test_a_lost_arp_frame_is_asked_for_again(nic, monkeypatch, lost, code, asked):
    device, _ = nic()
    qpn, attempts = device.create_qp(CONFIG), []

    def to_rts(attributes):
        attempts.append(attributes)
        if len(attempts) <= lost:
            raise FakeError("Failed to do to_rts", code)

    monkeypatch.setattr(device._qps[qpn], "to_rts", to_rts)
    if code == PERMISSION:
        with pytest.raises(HostCapabilityError, match="run as root"):
            device.connect(qpn, CONFIG, 1)
    else:
        device.connect(qpn, CONFIG, 1)
    assert len(attempts) == asked
