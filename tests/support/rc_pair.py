"""Two RC endpoints and the wire between them, in memory and in virtual time.

A drop is one line: `pair.drop("a", 3)` loses the third frame that A sends, `pair.drop_psn(5, times=2)` the first two
requests with PSN 5. `pair.run()` goes on until nothing is on the wire and no timer runs.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from workloads.config import QpConfig
from workloads.machine import Event
from workloads.rc import (
    Completion,
    RcEndpoint,
    ReceiveCompleted,
    ReceiveRequest,
    SendCompleted,
    SendRequest,
)
from workloads.wire import Envelope, Nak, Opcode, Packet, decode_packet, icrc_is_valid, is_ack, is_rnr, psn_add
from workloads.wire.trimming import trim

MTU = 256
RKEY, BASE_VA = 0x77, 0x10_0000
QPN = {"a": 0x11, "b": 0x22}
WRAP_PSN = 0xFFFFFC
START_PSNS = (0, WRAP_PSN)


def arriving(frames: Sequence[bytes], loss: float, draw: random.Random) -> list[bytes]:
    """What a wire makes of them: lost, damaged, doubled, cut short, each with that probability or a part of it, and at
    times in another order."""
    arrived: list[bytes] = []
    for frame in frames:
        if draw.random() < loss:
            continue
        if draw.random() < loss:
            bad = bytearray(frame)
            bad[draw.randrange(len(bad))] ^= 1 << draw.randrange(8)
            frame = bytes(bad)
        arrived.append(frame)
        if draw.random() < loss:
            arrived.insert(draw.randrange(len(arrived)), frame)
        if draw.random() < loss / 4:
            arrived.append(frame[: draw.randrange(len(frame))])
    if loss and draw.random() < 0.3:
        draw.shuffle(arrived)
    return arrived


@dataclass(frozen=True)
class Sent:
    """One frame that a side put on the wire."""

    time: int
    side: str
    index: int
    """n-th frame of this side, from 1"""
    frame: bytes
    packet: Packet = field(repr=False)

    @property
    def psn(self) -> int:
        return self.packet.bth.psn

    @property
    def opcode(self) -> Opcode:
        return Opcode(self.packet.bth.opcode)

    @property
    def kind(self) -> str:
        """data, ack, nak, rnr, or refusal"""
        if self.packet.aeth is None:
            return "data"
        syndrome = self.packet.aeth.syndrome
        if is_ack(syndrome):
            return "ack"
        if is_rnr(syndrome):
            return "rnr"
        return "nak" if syndrome == Nak.PSN_SEQUENCE else "refusal"


Fate = Callable[[Sent], Sequence[int]]
"""extra delays of the copies that arrive: (0,) undisturbed, () lost, (0, 5) duplicated"""


def pair_configs(**overrides: Any) -> tuple[QpConfig, QpConfig]:
    mac = {"a": bytes(5) + b"\1", "b": bytes(5) + b"\2"}
    ip = {"a": bytes((10, 0, 0, 1)), "b": bytes((10, 0, 0, 2))}
    psn = overrides.pop("psn", 0)
    settings: dict[str, Any] = {"path_mtu": MTU, "timeout_code": 12} | overrides

    def config(me: str, peer: str, first: int, peer_first: int) -> QpConfig:
        envelope = Envelope(mac[me], mac[peer], ip[me], ip[peer])
        return QpConfig(QPN[me], QPN[peer], envelope, first, peer_first, **settings)

    return config("a", "b", psn, 0x123), config("b", "a", 0x123, psn)


class RcPair:
    """A sends to B (and may be sent to). Every frame takes `delay_ns`; a side puts one frame on the wire per
    `spacing_ns` (0: all at once)."""

    def __init__(
        self, *, delay_ns: int = 100_000, spacing_ns: int = 0, memory: int = 1 << 16, **overrides: Any
    ) -> None:
        self.config = dict(zip("ab", pair_configs(**overrides), strict=True))
        self.ends = {"a": RcEndpoint(), "b": RcEndpoint()}
        for side, end in self.ends.items():
            end.add_qp(self.config[side])
        self.memory = bytearray(b"\xee" * memory)
        self.ends["b"].register_memory(RKEY, BASE_VA, memoryview(self.memory))
        self.delay_ns, self.spacing_ns = delay_ns, spacing_ns
        self.now = 0
        self.sent: list[Sent] = []
        self.events: dict[str, list[Event]] = {"a": [], "b": []}
        self.completions: dict[str, list[Completion]] = {"a": [], "b": []}
        self.received: list[bytes] = []
        """messages that B's user got, in order: what lay in the receive buffer (SEND) or memory (WRITE) just then"""
        self.fate: Fate = lambda sent: (0,)
        self._drops: list[Callable[[Sent], bool]] = []
        self._trims: list[Callable[[Sent], bool]] = []
        self._wire: list[tuple[int, int, Callable[[], None]]] = []
        self._ticket = 0
        self._free_at = {"a": 0, "b": 0}
        self._frames_of = {"a": 0, "b": 0}
        self._buffers: dict[int, bytearray] = {}
        self._writes: dict[int, tuple[int, int]] = {}

    # what a user does

    def post_receives(self, count: int, size: int = 1 << 13, first: int = 0) -> None:
        for wr_id in range(first, first + count):
            self._buffers[wr_id] = bytearray(b"\xee" * size)
            memory = None if self.config["b"].speaks_irn else memoryview(self._buffers[wr_id])
            self.ends["b"].post_receive(QPN["b"], ReceiveRequest(wr_id, memory))

    def send(self, *segments: bytes, wr_id: int = 0, imm: int | None = None) -> None:
        self.ends["a"].post_send(QPN["a"], SendRequest(wr_id, segments, imm), self.now)

    def write(self, *segments: bytes, wr_id: int = 0, imm: int | None = None, at: int = 0, rkey: int = RKEY) -> None:
        request = SendRequest(wr_id, segments, imm, BASE_VA + at, rkey)
        if imm is not None:
            self._writes[imm] = at, sum(map(len, segments))
        self.ends["a"].post_send(QPN["a"], request, self.now)

    # what the wire does

    def drop(self, side: str, *indices: int) -> None:
        """Lose the n-th frames that `side` sends, from 1."""
        self._drops.append(lambda sent: sent.side == side and sent.index in indices)

    def drop_psn(self, psn: int, *, times: int = 1) -> None:
        """Lose the first `times` requests of A with that PSN."""
        seen = [0]

        def hit(sent: Sent) -> bool:
            seen[0] += sent.side == "a" and sent.kind == "data" and sent.psn == psn
            return sent.side == "a" and sent.kind == "data" and sent.psn == psn and seen[0] <= times

        self._drops.append(hit)

    def trim_psn(self, psn: int, *, times: int = 1) -> None:
        """Cut the payload of the first `times` requests of A with that PSN."""
        seen = [0]

        def hit(sent: Sent) -> bool:
            seen[0] += sent.side == "a" and sent.kind == "data" and sent.psn == psn
            return sent.side == "a" and sent.kind == "data" and sent.psn == psn and seen[0] <= times

        self._trims.append(hit)

    def drop_kind(self, side: str, kind: str, *, times: int = 1) -> None:
        """Lose the first `times` frames of that kind (`Sent.kind`)."""
        seen = [0]

        def hit(sent: Sent) -> bool:
            seen[0] += sent.side == side and sent.kind == kind
            return sent.side == side and sent.kind == kind and seen[0] <= times

        self._drops.append(hit)

    def inject(self, side: str, frame: bytes) -> None:
        """A frame that nobody sent arrives at `side` now."""
        self.ends[side].receive_frame(0, frame, self.now)
        self._look()

    # running

    def at(self, time: int, do: Callable[[], None]) -> None:
        self._ticket += 1
        heapq.heappush(self._wire, (time, self._ticket, do))

    def run(self, until: Callable[[], bool] | None = None, *, limit_ns: int = 10**12, max_steps: int = 200_000) -> None:
        """To the end, or until the condition holds. Fails when that takes too long: a livelock."""
        for _ in range(max_steps):
            self._look()
            if until is not None and until():
                return
            self._pump()
            times = [t for end in self.ends.values() if (t := end.get_timer()) is not None]
            if self._wire:
                times.append(self._wire[0][0])
            if not times:
                return
            self.now = max(self.now, min(times))
            assert self.now <= limit_ns, "virtual time runs away"
            if self._wire and self._wire[0][0] <= self.now:
                heapq.heappop(self._wire)[2]()
            else:
                for end in self.ends.values():
                    end.handle_timer(self.now)
        raise AssertionError("too many steps")

    def _pump(self) -> None:
        for side, end in self.ends.items():
            if self._free_at[side] > self.now:
                continue
            for _, frame in end.frames_to_send(self.now):
                self._transmit(side, bytes(frame))
                if self.spacing_ns:
                    self._free_at[side] = self.now + self.spacing_ns
                    self.at(self._free_at[side], lambda: None)
                    break

    def _transmit(self, side: str, frame: bytes) -> None:
        packet = decode_packet(frame)
        assert packet is not None
        assert icrc_is_valid(frame)
        self._frames_of[side] += 1
        sent = Sent(self.now, side, self._frames_of[side], frame, packet)
        self.sent.append(sent)
        hits = [hit(sent) for hit in self._drops]  # all of them count
        if any(hits):
            return
        cuts = [hit(sent) for hit in self._trims]
        if any(cuts):
            cut = trim(frame)
            assert cut is not None
            frame = cut
        other = self.ends["b" if side == "a" else "a"]
        for extra in self.fate(sent):
            self.at(self.now + self.delay_ns + extra, lambda: other.receive_frame(0, frame, self.now))

    def _look(self) -> None:
        for side, end in self.ends.items():
            while (event := end.next_event()) is not None:
                self.events[side].append(event)
            while (completion := end.next_completion()) is not None:
                self.completions[side].append(completion)
                if isinstance(completion, ReceiveCompleted) and side == "b":
                    if completion.imm in self._writes:
                        at, size = self._writes[completion.imm]
                        self.received.append(bytes(self.memory[at : at + size]))
                    else:
                        self.received.append(bytes(self._buffers[completion.wr_id][: completion.length]))

    # what tests ask

    def data(self) -> list[Sent]:
        return [s for s in self.sent if s.side == "a" and s.kind == "data"]

    def of_kind(self, kind: str, side: str = "b") -> list[Sent]:
        return [s for s in self.sent if s.side == side and s.kind == kind]

    def statuses(self) -> list[tuple[int, str]]:
        return [(c.wr_id, c.status) for c in self.completions["a"] if isinstance(c, SendCompleted)]

    def psn(self, offset: int) -> int:
        """A's `offset`-th PSN."""
        return psn_add(self.config["a"].first_psn, offset)

    def offsets(self, sent: Sequence[Sent]) -> list[int]:
        """PSNs counted from A's first one."""
        return [(s.psn - self.config["a"].first_psn) % (1 << 24) for s in sent]

    def events_of(self, kind: type[Event], side: str = "a") -> list[Any]:
        return [e for e in self.events[side] if isinstance(e, kind)]


def ipv6(config: QpConfig) -> QpConfig:
    envelope = replace(config.envelope, src_ip=bytes(15) + b"\1", dst_ip=bytes(15) + b"\2")
    return replace(config, envelope=envelope)


def pattern(size: int, salt: int = 0) -> bytes:
    """Bytes in which a packet out of place is seen."""
    return bytes((i * 131 + (i >> 8) * 17 + salt * 59) & 0xFF for i in range(size))


def several_configs(count: int, psn: int, v6: bool = False, **settings: Any) -> tuple[list[QpConfig], list[QpConfig]]:
    """Of `count` connections between the same two endpoints: (A's, B's)."""
    a, b = pair_configs(psn=psn, path_mtu=MTU, **settings)
    if v6:
        e = ipv6(a).envelope
        a, b = ipv6(a), replace(b, envelope=replace(b.envelope, src_ip=e.dst_ip, dst_ip=e.src_ip))
    return (
        [replace(a, qpn=10 + number, peer_qpn=20 + number) for number in range(count)],
        [replace(b, qpn=20 + number, peer_qpn=10 + number) for number in range(count)],
    )
