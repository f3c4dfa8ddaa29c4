"""The emulated card of a lab: a process on the card's host with its data ports, and its registers on a unix socket.

    python -m testbed.lab.emulated.card SOCKET TRACE LOAD_MS FAULTS HARDWARE PORT...

TRACE: prefix of the files where it records what it does; a lab can collect them from a card that has such a thing.
TRACE.cables: what its cables do to frames (`cables`). HARDWARE: empty, or LIBRARY:SHA256 of the card in hardware.
"""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from switch_nodes.dataplane import DataPlane, EmulatedClock, PlaneControl, PlaneTiming, PortStages, open_io
from switch_nodes.dataplane.native_io import native_library
from switch_nodes.events import PlaneStatistics
from switch_nodes.forwarding.frame_queue import switch_library
from switch_nodes.fpga.bitstream import bitstream_hash
from switch_nodes.fpga.card import EmulatedCard
from switch_nodes.fpga.cards import RTL
from switch_nodes.fpga.datagrams import RegisterServer
from switch_nodes.fpga.events import CardCommanded
from switch_nodes.fpga.faults import parse_fault
from switch_nodes.fpga.io.datagram import RegisterSocket, listen_unix
from switch_nodes.fpga.rtl.card import RtlCard
from switch_nodes.fpga.rtl.simulation.library import SimulatedCard
from switch_nodes.tap import Tap
from testbed.captures.capture import BoundedTap
from testbed.history import make_record
from testbed.history.codec import encode_record
from testbed.history.events import CaptureCut
from testbed.lab.emulated.cables import Cables, cables_of
from testbed.lab.emulated.hardware import bitstream_of
from testbed.lab.emulated.shape import CARD_LIBRARY, CARD_SOCKET, CARD_TRACE, PYTHON, LabShape
from workloads.machine import Buffer, Event, FrameBatch

__all__ = ["Trace", "card_command", "main"]

_FILE_BYTES = 200_000_000
"""bytes of each file; both have room in the host's memory, and are less than what is collected of one file"""


def card_command(shape: LabShape) -> tuple[str, ...]:
    """Faults as `switch_nodes.fpga.faults` reads them. Raises ScenarioError."""
    for fault in shape.card_faults:
        parse_fault(fault)
    ports = [f"p{number}" for number in range(shape.hosts)]
    own = (PYTHON, "-P", "-m", "testbed.lab.emulated.card")
    made = f"{CARD_LIBRARY}:{bitstream_hash(bitstream_of(shape)).hex()}" if shape.card_kind == RTL else ""
    return (*own, CARD_SOCKET, CARD_TRACE, str(shape.card_load_ms), ",".join(shape.card_faults), made, *ports)


class Trace(Tap):
    """What the card does, since the last START: events as JSON lines in PREFIX.jsonl, frames in PREFIX.pcapng. A `Tap`.
    When one of them has its `limit_bytes`, nothing more is written but that it was cut: a card does not stop by itself.
    """

    def __init__(self, prefix: str, links: Sequence[str], limit_bytes: int = _FILE_BYTES) -> None:
        self._prefix, self._links, self._limit = prefix, links, limit_bytes
        self._begin()

    def _begin(self) -> None:
        capture = Path(f"{self._prefix}.pcapng")
        capture.unlink(missing_ok=True)
        self._tap = BoundedTap(capture, self._links, self._limit)
        self._file = open(f"{self._prefix}.jsonl", "w", encoding="utf-8")  # noqa: SIM115
        self._left, self._cut = self._limit, False

    def again(self) -> None:
        self._tap.close()
        self._file.close()
        self._begin()

    def tell(self, event: Event) -> None:
        # CLOCK_REALTIME, which workers on other hosts know as well.
        if self._cut:
            return
        text = _line(event)
        self._left -= len(text)
        if self._left < 0 or self._tap.is_full:
            self._cut, text = True, _line(CaptureCut(self._limit))
        self._file.write(text)

    def flush(self) -> None:
        self._file.flush()

    def record(self, batch: FrameBatch, start: int, stop: int, now: int, outgoing: bool) -> None:
        if not self._cut:
            self._tap.record(batch, start, stop, now, outgoing)

    def dropped(self, port: int, frame: Buffer, now: int, outgoing: bool, reason: str) -> None:
        self._tap.dropped(port, frame, now, outgoing, reason)

    def trimmed(self, port: int, frame: Buffer, now: int) -> None:
        self._tap.trimmed(port, frame, now)

    def close(self) -> None:
        self._tap.close()
        self._file.close()


def _line(event: Event) -> str:
    return encode_record(make_record(time.time_ns(), "card", event)).decode()


def main(argv: list[str]) -> int:
    path, prefix, load_ms, faults, hardware, *ports = argv
    # Compiled or loaded now: later somebody waits for an answer.
    native_library()
    switch_library()
    card = _emulated(load_ms, faults, ports) if not hardware else _simulated(hardware, ports)
    cables = Path(f"{prefix}.cables")
    cables_of(cables)
    born = time.monotonic_ns()
    listening = listen_unix(Path(path))
    registers = RegisterSocket(listening, RegisterServer(card), lambda: time.monotonic_ns() - born)
    stopped: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: stopped.append(number))
    # Links have the names that a rack gives them.
    trace = Trace(prefix, [f"h{number + 1}-s1" for number in range(len(ports))])
    turns: list[str] = []
    """START and STOP since the loop began: other cables from then on"""

    def tell(now: int, event: Event) -> None:
        if isinstance(event, PlaneStatistics):
            return  # of one turn of the loop below
        command = event.command if isinstance(event, CardCommanded) else ""
        if command == "start":
            trace.again()
        trace.tell(event)
        if command == "stop":
            # Its program tells what is left in it; these events come here next.
            card.finish(now)
        if command in ("start", "stop"):
            turns.append(command)

    io = open_io(ports, backpressure=False, control=listening)
    runs = Cables()
    while not stopped:
        turns.clear()
        plane = DataPlane(
            card, ports, PlaneControl(tell, control=listening, on_control=registers.serve), backpressure=False, io=io,
            stages=PortStages(runs.ingress, runs.egress, trace), timing=PlaneTiming(EmulatedClock(runs.dilation)),
        )  # fmt: skip
        plane.run(time.monotonic_ns(), until=lambda: bool(stopped or turns))
        trace.flush()
        if turns:
            runs = cables_of(cables) if turns[-1] == "start" else Cables()
    return 0


def _emulated(load_ms: str, faults: str, ports: Sequence[str]) -> EmulatedCard:
    return EmulatedCard(
        len(ports),
        load_ns=int(load_ms) * 1_000_000,
        faults=[parse_fault(fault) for fault in faults.split(",") if fault],
    )


def _simulated(hardware: str, ports: Sequence[str]) -> RtlCard:
    library, _, sha256 = hardware.partition(":")
    return RtlCard(SimulatedCard(Path(library), bitstream_hash=bytes.fromhex(sha256)), len(ports))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
