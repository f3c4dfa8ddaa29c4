"""The eBPF program: its dice are the reference's, and on a veth pair it does to each frame what LinkFilter does."""

from __future__ import annotations

import contextlib
import ctypes
import os
import socket
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from testbed.faults.decide import absorb_many, burst_is_bad, threshold
from testbed.faults.ebpf import attach
from testbed.faults.ebpf.attach import EbpfFaults
from testbed.faults.ebpf.build import SOURCE, build_object
from testbed.faults.ebpf.libbpf import BpfObject
from testbed.faults.ebpf.support import why_not
from testbed.faults.events import FaultHealed, FaultStruck
from testbed.faults.model import (
    Burst,
    Corrupt,
    Delay,
    Drop,
    Duplicate,
    EcnMark,
    LinkDown,
    Loss,
    Match,
    PacketFault,
    Reorder,
    Window,
)
from testbed.faults.way import LinkWay
from tests.support.roce_frames import FIRST_PSN, TABLE, answer, link_filter, request
from topologies import Direction
from workloads.errors import HostCapabilityError, InternalError
from workloads.wire import Opcode

LINK = ("h1-s1",)
WAY = LinkWay(6, "h1-s1", Direction.UP, TABLE)
_SO_RCVBUFFORCE = 33
_PASS, _SHOT = 0, 2
"""TC_ACT_OK and TC_ACT_SHOT (linux/pkt_cls.h)"""
needs_root = [
    pytest.mark.programs,
    pytest.mark.root,
    pytest.mark.ebpf,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root"),
]


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (Reorder("f", LINK), "eBPF cannot hold a packet back"),
        (Delay("f", LINK), "eBPF cannot hold a packet back"),
        (Duplicate("f", LINK, delay_ns=1), "eBPF cannot hold a packet back"),
        (Corrupt("f", LINK, repair_icrc=True), "eBPF does not recompute an iCRC"),
        (Drop("f", LINK, match=Match(message=1)), "eBPF does not know where messages begin"),
        (Drop("f", LINK, match=Match(packet=-1)), "eBPF does not know where messages begin"),
        (Duplicate("f", LINK), None),
        (Drop("f", LINK, match=Match(psn_offset=1, attempt=1)), None),
    ],
)
def test_why_not(fault: PacketFault, reason: str | None) -> None:
    assert why_not(fault) == reason


class TestAsRoot:
    pytestmark = needs_root

    @pytest.fixture(autouse=True)
    def _program(self) -> None:
        try:
            build_object()
        except HostCapabilityError as error:
            pytest.skip(str(error))

    def test_it_draws_the_same_for_a_million_identities(self) -> None:
        count, stream, enter, recover = 1_000_000, 0xFEDCBA9876543210, threshold(0.02), threshold(0.2)
        random = np.random.default_rng(5)
        source = Path(__file__).resolve().parents[3] / "support" / "draw_check.c"
        with BpfObject(build_object(source)) as program:
            rows = program.view("questions", np.dtype((np.uint64, 8)), count)
            rows[:, 0] = random.integers(0, 1 << 64, count, np.uint64)
            rows[:, 1] = random.integers(0, 1 << 40, count, np.uint64)
            rows[:, 2] = random.integers(1, 1 << 32, count, np.uint64)
            rows[:, 3] = random.integers(0, 1 << 16, count, np.uint64)
            rows[:, 4] = random.integers(0, 6, count, np.uint64)
            plan = np.array([stream, enter, recover, count], np.uint64)
            program.update("plan", bytes(4), plan.tobytes())
            assert program.run("draw_all") == 0
            tail = rows[:, 2] | rows[:, 3] << np.uint64(32) | rows[:, 4] << np.uint64(48)
            expected = absorb_many(absorb_many(stream, absorb_many(rows[:, 0], rows[:, 1])), tail)
            assert np.array_equal(rows[:, 5], expected)
            for flow, word, n, copy, _, _, bad, _ in rows[:2000].tolist():
                assert burst_is_bad(stream, flow, word & 0xFFFFFF, n, copy, enter, recover) == bool(bad)

    def test_the_fault_program_itself_decides_as_the_reference_for_many_packets(self) -> None:
        """The program of the faults, run in the kernel on frame after frame (BPF_PROG_TEST_RUN): parsing, counting of
        occurrences and dice together."""
        faults = (
            Loss("loss", LINK, rate=0.2),
            Burst("burst", LINK, rate=0.05, recover=0.3, loss_bad=0.9, loss_good=0.01),
            Drop("again", LINK, match=Match(attempt=2), rate=0.5),
        )
        reference, lost = link_filter(*faults, seed=6), 0
        with EbpfFaults(WAY, faults) as program:
            program.start()
            for number, frame in enumerate(any_packets(50_000)):
                passes = bool(reference.admit(frame, 0))
                assert program._object.run("faults", frame) == (_PASS if passes else _SHOT), number
                lost += not passes
            struck = Counter(
                event.fault for event in iter(reference.next_event, None) if isinstance(event, FaultStruck)
            )
            assert program.strikes() == struck
            assert program.uncounted == 0
        assert 10_000 < lost < 25_000
        assert min(struck.values()) > 1_000

    @pytest.mark.parametrize(
        "faults",
        [
            (Loss("loss", LINK, rate=0.2),),
            (Burst("burst", LINK, rate=0.05, recover=0.3, loss_bad=0.9, loss_good=0.01),),
            (Drop("drop", LINK, match=Match(opcodes=frozenset({0x01}), psn_offset=20, attempt=1)),),
            (Drop("nak", LINK, match=Match(syndrome=0x60)), Drop("rank", LINK, match=Match(source_rank=1))),
            (Corrupt("corrupt", LINK, rate=0.5), Corrupt("bit", LINK, bit=3, match=Match(attempt=2))),
            (EcnMark("ecn", LINK, rate=0.5),),
            (Duplicate("dup", LINK, rate=0.3),),
            (Duplicate("dup", LINK, rate=0.5), Duplicate("again", LINK, rate=0.5), Loss("loss", LINK, rate=0.5)),
            (Loss("loss", LINK, rate=0.3), Duplicate("dup", LINK, rate=0.5), Corrupt("corrupt", LINK, rate=0.5)),
        ],
        ids=lambda faults: "+".join(fault.name for fault in faults),
    )  # fmt: skip
    def test_it_does_what_the_reference_does(self, faults: tuple[PacketFault, ...]) -> None:
        frames = traffic()
        reference = link_filter(*faults, seed=6)
        wanted = Counter(delivery.frame for frame in frames for delivery in reference.admit(frame, 0))
        struck = []
        while (event := reference.next_event()) is not None:
            assert isinstance(event, FaultStruck)
            struck.append(event)
        with veth_pair() as (sender, receiver), attached(faults) as program:
            got = exchange(sender, receiver, frames)
        assert +got == +wanted
        ours = [event for _, event in program.events(0) if isinstance(event, FaultStruck)]
        assert Counter(map(undated, ours)) == Counter(map(undated, struck))
        assert {event.backend for event in ours} == {"ebpf"}
        assert program.strikes() == {fault.name: sum(event.fault == fault.name for event in struck) for fault in faults}
        assert all(program.strikes().values())
        assert (program.uncounted, program.undescribed) == (0, 0)

    def test_frames_beyond_the_table_pass_and_are_told(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """The same program with room for 8 identities."""
        text = SOURCE.read_text(encoding="utf-8")
        small = text.replace("__u32, 1 << 22,", "__u32, 8,").replace('"../rules.h"', '"rules.h"')
        assert small.count("__u32, 8,") == 1
        source = tmp_path / "small.c"
        source.write_text(small, encoding="utf-8")
        made = build_object(source)
        monkeypatch.setattr(attach, "build_object", lambda: made)
        with EbpfFaults(WAY, (Loss("all", LINK),)) as program:
            program.start()
            passed = sum(program._object.run("faults", request(psn)) == _PASS for psn in range(50))
            assert passed == program.uncounted > 30
            assert program.strikes() == {"all": 50 - passed}
        made.unlink()

    def test_strikes_beyond_the_log_are_counted_and_told(self) -> None:
        with EbpfFaults(WAY, (Loss("all", LINK),)) as program:
            program.start()
            assert {program._object.run("faults", request(7)) for _ in range(attach._LOG_ENTRIES + 20)} == {_SHOT}
            assert (program.undescribed, program.uncounted) == (20, 0)
            assert len(program.events(0)) == attach._LOG_ENTRIES

    def test_windows_flaps_and_healing(self) -> None:
        second = 1_000_000_000
        fault = LinkDown("down", LINK, window=Window(10 * second, 20 * second), count=2, period_ns=30 * second)
        frames = [request(psn) for psn in range(20)]
        with veth_pair() as (sender, receiver), attached((fault,), start=False) as program:
            passed = [sum(exchange(sender, receiver, frames).values())]
            for ago in (5, 15, 25, 45, 55):
                program.start(time.monotonic_ns() - ago * second)
                passed.append(sum(exchange(sender, receiver, frames).values()))
            assert passed == [20, 20, 0, 20, 0, 20]
            assert len(program.events(49 * second)) == 40
            assert program.events(50 * second) == [(50 * second, FaultHealed("down", "h1-s1"))]

    def test_before_the_start_nothing_strikes_or_counts(self) -> None:
        fault = Drop("drop", LINK, match=Match(attempt=1))
        with veth_pair() as (sender, receiver), attached((fault,), start=False) as program:
            assert sum(exchange(sender, receiver, [request(1)]).values()) == 1
            program.start(time.monotonic_ns() + 3_600_000_000_000)
            assert sum(exchange(sender, receiver, [request(1)]).values()) == 1
            program.start()
            assert sum(exchange(sender, receiver, [request(1)]).values()) == 0
            assert program.strikes() == {"drop": 1}

    def test_detached_it_does_nothing_and_its_counters_stay(self) -> None:
        with veth_pair() as (sender, receiver):
            with attached((Loss("loss", LINK),)) as program:
                assert not exchange(sender, receiver, [request(1)])
            program.detach()
            assert sum(exchange(sender, receiver, [request(2)]).values()) == 1
            assert program.strikes() == {"loss": 1}

    def test_a_clsact_that_was_there_before_stays(self) -> None:
        with veth_pair():
            tc("qdisc", "add", "dev", "right", "clsact")
            with attached((Loss("loss", LINK),)):
                assert "ina_faults" in tc("filter", "show", "dev", "right", "ingress")
            assert "clsact" in tc("qdisc", "show", "dev", "right")
            assert tc("filter", "show", "dev", "right", "ingress") == ""

    def test_no_such_interface(self) -> None:
        with pytest.raises(InternalError, match=r"^no interface nowhere$"):
            EbpfFaults.attach("nowhere", WAY, ())


def test_a_fault_that_ebpf_cannot_serve_is_refused() -> None:
    with pytest.raises(InternalError, match=r"^fault r: eBPF cannot hold a packet back$"):
        EbpfFaults(WAY, (Reorder("r", LINK),))


def undated(event: FaultStruck) -> tuple[object, ...]:
    return event.fault, event.kind, event.target, event.direction, event.flow, event.opcode, event.psn, event.occurrence


def traffic() -> list[bytes]:
    """Every sort of frame, some of them twice; all of them IP, since the receiving socket reads that."""
    frames = [
        request(FIRST_PSN + n, opcode=Opcode.WRITE_FIRST if n % 7 == 0 else 1, payload=bytes(8 + n % 5))
        for n in range(60)
    ]
    frames += [
        request(500 + n, connection=1, opcode=Opcode.SEND_LAST_IMM, payload=b"x" * 900, tos=n % 4) for n in range(40)
    ]
    frames += [answer(FIRST_PSN + n, syndrome=0x60 if n % 3 == 0 else 0x1F) for n in range(30)]
    frames += frames[:30] + frames[100:110]
    for n in range(20):
        other = bytearray(request(n, payload=n.to_bytes(4, "big") * 20))
        other[36:38] = (5000).to_bytes(2, "big")  # UDP to another port: not RoCE
        frames.append(bytes(other))
    return frames


def any_packets(count: int) -> Iterator[bytes]:
    """Data and answers of all flows and opcodes, IPv4 and IPv6, each third one a packet that came before."""
    random = np.random.default_rng(8)
    v4, v6 = bytearray(request(1)), bytearray(request(1, ipv6=True))
    earlier: list[bytes] = []
    for psn, qpn, opcode, host, which in random.integers(0, 1 << 24, (count, 5)).tolist():
        if earlier and which % 3 == 0:
            yield earlier[psn % len(earlier)]
            continue
        frame, at = (v6, 62) if which % 2 else (v4, 42)
        frame[at - 9] = host & 0xFF  # last byte of the destination's address
        frame[at] = 0x11 if opcode % 4 == 0 else opcode & 0xFF
        frame[at + 5 : at + 8] = qpn.to_bytes(3, "big")
        frame[at + 9 : at + 12] = psn.to_bytes(3, "big")
        frame[at + 12] = host >> 8 & 0xFF  # the syndrome of an ACKNOWLEDGE
        earlier.append(bytes(frame))
        yield earlier[-1]


def tc(*arguments: str) -> str:
    return subprocess.run(["tc", *arguments], capture_output=True, text=True, check=True).stdout


@contextlib.contextmanager
def attached(faults: tuple[PacketFault, ...], *, start: bool = True) -> Iterator[EbpfFaults]:
    with EbpfFaults.attach("right", WAY, faults) as program:
        if start:
            program.start()
        yield program


@contextlib.contextmanager
def veth_pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    """Packet sockets on both ends of a veth pair in a namespace that lives as long as this thread is in it."""
    libc = ctypes.CDLL(None, use_errno=True)
    home = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    if libc.unshare(0x40000000):
        raise OSError(ctypes.get_errno(), "unshare")
    try:
        run = ["ip", "link", "add", "left", "type", "veth", "peer", "name", "right"]
        subprocess.run(run, check=True)
        for name in ("left", "right"):
            Path(f"/proc/sys/net/ipv6/conf/{name}/disable_ipv6").write_text("1")
            subprocess.run(["ip", "link", "set", name, "up"], check=True)
        with (
            socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0) as sender,
            # On one protocol: a socket on all protocols would read before the ingress hook.
            socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0800)) as receiver,
        ):
            sender.bind(("left", 0))
            receiver.bind(("right", 0x0800))
            receiver.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, 1 << 24)
            receiver.settimeout(0.2)
            yield sender, receiver
    finally:
        libc.setns(home, 0x40000000)
        os.close(home)


def exchange(sender: socket.socket, receiver: socket.socket, frames: list[bytes]) -> Counter[bytes]:
    """What comes out at the right end; the wait ends 0.2 s after the last frame. Clones that breed without end would
    keep the pair busy for good, so too many frames end the test, and with its namespace the pair."""
    for frame in frames:
        sender.send(frame)
    got: Counter[bytes] = Counter()
    with contextlib.suppress(TimeoutError):
        for _ in range(8 * len(frames)):
            got[receiver.recv(4096)] += 1
        pytest.fail("clones without end")
    return got
