"""The data ports of an emulated card: a program that was configured, or nothing; and what is counted before and behind
it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from switch_nodes.config import SwitchConfig
from switch_nodes.fpga.faults import CardFault, StopsPassing, WrongPsn, WrongSum
from switch_nodes.netreduce.program import NetReduceProgram
from switch_nodes.program import ProgramBase, SwitchProgram
from workloads.collectives.ina_header import INA_HEADER_BYTES
from workloads.machine import BatchMachine, Buffer, FrameBatch
from workloads.rc.changes import data_bytes, flipped, renumbered

__all__ = ["DataPorts"]

_NO_QPN = 0xFFFFFFFF


class DataPorts:
    """Whether the card runs is said with every call. `faults`: those of the data path. The second argument is called
    for each fault that has an effect on what leaves."""

    def __init__(self, faults: Mapping[type[CardFault], CardFault], strike: Callable[[type[CardFault]], None]) -> None:
        self.program: SwitchProgram | None = None
        fault = faults.get(StopsPassing)
        self._fault = fault if isinstance(fault, StopsPassing) else None
        self._spoils = [found for found in faults.values() if isinstance(found, WrongSum | WrongPsn)]
        self._strike, self._sums = strike, 0
        self._counters = {"frames_in": 0, "frames_out": 0, "not_running": 0}
        self._before: dict[str, int] = {}
        """what earlier programs counted"""

    def configure(self, config: SwitchConfig, make: Callable[[SwitchConfig], SwitchProgram]) -> None:
        """From now on the program does this. Where only rings differ, those that stay keep their state. Raises
        ScenarioError, and changes nothing, for what the program refuses."""
        program = self.program
        if isinstance(program, NetReduceProgram) and replace(program.config, rings=config.rings) == config:
            program.install(config.rings)
        else:
            fresh = make(config)
            self._before = self.counters()
            self.program = fresh

    @property
    def _fast(self) -> BatchMachine | None:
        program: object = self.program
        return program if isinstance(program, BatchMachine) else None

    def counters(self) -> dict[str, int]:
        """Of the ports, and of all programs since power came."""
        program = self.program
        now = program.counters if isinstance(program, ProgramBase) else {}
        return {name: self._before.get(name, 0) + now.get(name, 0) for name in self._before | now} | self._counters

    def learnt_qpn(self, ring: int, member: int) -> int:
        """Destination QPN of a member's connection in the ring of that place, if known."""
        program = self.program
        rings = list(program.rings.values()) if isinstance(program, NetReduceProgram) else []
        if ring >= len(rings) or member >= rings[ring].size:
            return _NO_QPN
        qpn = int(rings[ring].qpn[member])
        return qpn if qpn >= 0 else _NO_QPN

    def receive(self, port: int, frame: Buffer, now: int, running: bool) -> bool:
        """False: the fault took it."""
        self._counters["frames_in"] += 1
        if not running or self.program is None:
            self._counters["not_running"] += 1
            return True
        if self._fault is not None and self._counters["frames_in"] > self._fault.after_frames:
            return False
        self.program.receive_frame(port, frame, now)
        return True

    def receive_batch(self, batch: FrameBatch, now: int, running: bool) -> bool:
        """As `receive` for each row; False: the fault took some."""
        fast = self._fast
        if running and self._fault is None and fast is not None:
            self._counters["frames_in"] += batch.count
            fast.receive_batch(batch, now)
            return True
        passed = True
        for row, port in enumerate(batch.ports[: batch.count].tolist()):
            passed = self.receive(port, batch.row(row), now, running) and passed
        return passed

    def send(self, now: int, running: bool) -> Iterator[tuple[int, Buffer]]:
        if running and self.program is not None:
            for port, frame in self.program.frames_to_send(now):
                self._counters["frames_out"] += 1
                yield port, self._spoilt(frame) if self._spoils else frame

    def fill(self, batch: FrameBatch, now: int, running: bool) -> None:
        before = batch.count
        fast = self._fast
        if running and fast is not None and not self._spoils:
            fast.fill_batch(batch, now)
            self._counters["frames_out"] += batch.count - before
            return
        if batch.count < batch.capacity:
            for port, frame in self.send(now, running):
                batch.append(port, frame)
                if batch.count >= batch.capacity:
                    return

    def _spoilt(self, frame: Buffer) -> Buffer:
        size = data_bytes(frame)
        if size <= INA_HEADER_BYTES:
            return frame
        self._sums += 1
        for fault in self._spoils:
            if self._sums == fault.after + 1:
                self._strike(type(fault))
                return renumbered(frame, 1) if isinstance(fault, WrongPsn) else flipped(frame, size - 1)
        return frame

    def timer(self, running: bool) -> int | None:
        return self.program.get_timer() if running and self.program is not None else None

    def handle_timer(self, now: int, running: bool) -> None:
        if running and self.program is not None:
            self.program.handle_timer(now)
