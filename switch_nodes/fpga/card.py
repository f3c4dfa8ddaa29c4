"""The emulated card: registers, a slot for a bitstream, data ports. What runs on its ports is a program of
`switch_nodes` that was configured from the registers and from nothing else.

Rules that a hardware card keeps as well (`docs/bring-your-own-fpga.md`): frames pass only between START and the next
STOP, RESET, LOAD_BEGIN or ERASE. The card applies a bank as a whole, between two frames, or not at all. It never runs
anything but a whole bitstream with the expected hash.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from switch_nodes.config import SwitchConfig
from switch_nodes.events import SwitchStatistics
from switch_nodes.fpga.bitstream import Bitstream
from switch_nodes.fpga.carddata import DataPorts
from switch_nodes.fpga.conversion import config_of, slots_of, text_words
from switch_nodes.fpga.errors import RegisterValueError
from switch_nodes.fpga.events import CardCommanded, CardFaultStruck, CardLoaded
from switch_nodes.fpga.faults import AgentDies, CardFault, GarbageReads, ProgrammingFails, StopsPassing, WrongBitstream
from switch_nodes.fpga.loader import LoadSlot
from switch_nodes.fpga.registerfile import RegisterFile
from switch_nodes.fpga.registers import WORD, doubled, doubled_value
from switch_nodes.fpga.regmap import (
    COUNTERS,
    MAX_MACS,
    MAX_PORTS,
    MAX_RINGS,
    MEMBER_FIELDS,
    OPERATIONS,
    REGISTERS,
    Command,
    Failure,
    Feature,
    LoadState,
    Status,
    table_stride,
)
from switch_nodes.netreduce import create_netreduce
from switch_nodes.program import SwitchProgram
from workloads.collectives.ina_header import MAX_MEMBERS
from workloads.errors import ScenarioError
from workloads.machine import Buffer, Event, FrameBatch

__all__ = ["PROGRAMS", "CardProgram", "EmulatedCard"]

CardProgram = Callable[[SwitchConfig], SwitchProgram]
PROGRAMS: Mapping[str, CardProgram] = {"netreduce": create_netreduce}
"""what bitstreams may name"""
_NOWHERE = 0xFFFFFFFF
_ADDRESSES = 1 << 32
_CONTROL, _LOAD_PAGE = REGISTERS["CONTROL"].address, REGISTERS["LOAD_PAGE"].address
_MEMBERS_BYTES = MAX_MEMBERS * table_stride("member")
_RING_AT, _MEMBER_AT = REGISTERS["RING0_ID"].address, MEMBER_FIELDS[0].address
_QPN_AT = MEMBER_FIELDS[-1].address
_OTHER_BITS = b"another one"


class EmulatedCard:
    """A Machine on data ports 0 .. ports-1, and a bus: `read` and `write`, whose `now` is that of the Machine.

    `load_ns`: from LOAD_END until a bitstream runs. `programs`: what bitstreams may name. Raises ScenarioError for more
    ports than the map has room for."""

    def __init__(
        self,
        ports: int,
        *,
        serial: str = "emulated-0",
        load_ns: int = 0,
        max_slots: int = 1 << 20,
        programs: Mapping[str, CardProgram] = PROGRAMS,
        faults: Sequence[CardFault] = (),
    ) -> None:
        if not 1 <= ports <= MAX_PORTS:
            raise ScenarioError("ports of a card", found=str(ports), allowed=f"1 .. {MAX_PORTS}")
        self.faults = {type(fault): fault for fault in faults}
        self._programs, self._ports = programs, ports
        fixed = {
            "FEATURES": int(Feature.LOADS | Feature.FABRIC | Feature.IPV6), "OPERATIONS": sum(OPERATIONS.values()),
            "PORTS": ports, "MAX_RINGS": MAX_RINGS, "MAX_MEMBERS": MAX_MEMBERS, "MAX_MACS": MAX_MACS,
            "MAX_SLOTS": max_slots,
        }  # fmt: skip
        self._serial = text_words(serial, REGISTERS["SERIAL"].count)
        self._max_slots = max_slots
        self.registers = RegisterFile(fixed, self._on_write, self._on_refused)
        self._slot = LoadSlot(self.registers, load_ns)
        self._events: deque[Event] = deque()
        self._struck: set[type[CardFault]] = set()
        self._data = DataPorts(self.faults, self._strike)
        self._boots = self._words_read = self._accesses = self._garbled = 0
        self._configured = self._running = False
        self._now = 0
        self._boot()

    # The bus.

    @property
    def answers(self) -> bool:
        """Whether the agent in front of the registers is alive."""
        fault = self.faults.get(AgentDies)
        return not isinstance(fault, AgentDies) or self._accesses < fault.after

    def read(self, address: int, size: int, now: int) -> bytes:
        """`size` bytes from `address` on. Raises ConnectionError without an answer. Raises ValueError for anything but
        whole words, and for a range that leaves the 32 bits of an address."""
        self._access(address, size, now)
        words = [self._read_word(address + at) for at in range(0, size, WORD)]
        return b"".join(self._garbage(word).to_bytes(WORD, "little") for word in words)

    def write(self, address: int, data: bytes, now: int) -> None:
        """Raises as `read`."""
        self._access(address, len(data), now)
        for at in range(0, len(data), WORD):
            self.registers.write(address + at, int.from_bytes(data[at : at + WORD], "little"))

    def _access(self, address: int, size: int, now: int) -> None:
        if address % WORD or size % WORD or size <= 0 or address < 0:
            raise ValueError(f"{size} bytes at {address:#x} are not whole words")
        if address + size > _ADDRESSES:
            raise ValueError(f"{size} bytes at {address:#x} do not end below {_ADDRESSES:#x}")
        if not self.answers:
            self._strike(AgentDies)
            raise ConnectionResetError("no answer")
        self._accesses += 1
        self.handle_timer(now)

    def _read_word(self, address: int) -> int:
        if address >= _RING_AT and (address - _QPN_AT) % table_stride("member") == 0:
            ring, at = divmod(address - _RING_AT, table_stride("ring"))
            if 0 <= at - (_MEMBER_AT - _RING_AT) < _MEMBERS_BYTES:
                member = (at - (_MEMBER_AT - _RING_AT)) // table_stride("member")
                return self.registers.show(address, self._data.learnt_qpn(ring, member))
        self._refresh()
        return self.registers.read(address)

    def _refresh(self) -> None:
        """Registers that follow from what the card is doing."""
        registers = self.registers
        registers.set("STATUS", doubled(int(self.status)))
        registers.set("STAGED_CHECK", registers.staged_check)
        registers.set("ACTIVE_CHECK", registers.active_check)

    def _garbage(self, word: int) -> int:
        fault = self.faults.get(GarbageReads)
        if not isinstance(fault, GarbageReads):
            return word
        self._words_read += 1
        if self._words_read <= fault.after or (fault.count is not None and self._garbled >= fault.count):
            return word
        self._garbled += 1
        self._strike(GarbageReads)
        return word ^ (self._words_read * 0x9E3779B1 & _NOWHERE | 1) if fault.noise else _NOWHERE

    # Commands.

    @property
    def status(self) -> Status:
        status = Status.BUSY if self._slot.busy else Status(0)
        if self._slot.state is LoadState.LOADED:
            status |= Status.PROGRAMMED
        if self._configured:
            status |= Status.CONFIGURED
        return status | Status.RUNNING if self._running else status

    def _on_write(self, address: int, word: int) -> None:
        if address == _CONTROL:
            self._command(word)
        elif address == _LOAD_PAGE:
            fault = self.faults.get(ProgrammingFails)
            if isinstance(fault, ProgrammingFails) and self._slot.stored >= fault.after_pages:
                self._strike(ProgrammingFails)
                self._slot.fail()
                self._end(Failure.LOAD_BROKEN)
            elif not self._slot.store(word):
                self._end(Failure.NOT_LOADING, address)

    def _on_refused(self, address: int) -> None:
        self._end(Failure.NOT_WRITABLE, address)

    def _end(self, failure: Failure, address: int = _NOWHERE) -> None:
        self.registers.set("ERROR", int(failure))
        self.registers.set("ERROR_ADDRESS", address)

    def _command(self, word: int) -> None:
        self.registers.set("COMMANDS", self.registers.get("COMMANDS") + 1)
        code = doubled_value(word)
        if code is None or code not in list(Command):
            self._end(Failure.UNKNOWN_COMMAND)
            self._events.append(CardCommanded(f"{word:#010x}", Failure.UNKNOWN_COMMAND.name.lower()))
            return
        command = Command(code)
        failure, address = self._obey(command) if not self._slot.busy else (Failure.BUSY, _NOWHERE)
        self._end(failure, address)
        self._events.append(CardCommanded(command.name.lower(), failure.name.lower()))

    def _obey(self, command: Command) -> tuple[Failure, int]:
        if command is Command.DISCARD:
            self.registers.discard()
        elif command is Command.APPLY:
            return self._apply()
        elif command is Command.START:
            if not self._configured:
                return (Failure.NOT_CONFIGURED if self._slot.program else Failure.NOT_PROGRAMMED), _NOWHERE
            self._running = True
        elif command is Command.STOP:
            self._running = False
        elif command is Command.RESET:
            self._boot()
        elif command is Command.LATCH:
            self._latch()
        else:
            return self._load(command), _NOWHERE
        return Failure.NONE, _NOWHERE

    def _load(self, command: Command) -> Failure:
        if command is Command.LOAD_END:
            if self._slot.state is not LoadState.LOADING:
                return Failure.NOT_LOADING
            self._slot.begin_check(self._now)
            self.handle_timer(self._now)
            return Failure(self.registers.get("ERROR")) if not self._slot.busy else Failure.NONE
        self._forget()
        if command is Command.ERASE:
            self._slot.erase()
        else:
            self._slot.begin()
        return Failure.NONE

    def _boot(self) -> None:
        """Power came: everything but the bitstream is forgotten."""
        self._forget()
        self.registers.reset()
        self._slot.tell()
        self._boots += 1
        self.registers.set("BOOTS", self._boots)
        for index, word in enumerate(self._serial):
            self.registers.set("SERIAL", word, index)

    def _forget(self) -> None:
        self._running = self._configured = False
        self._data = DataPorts(self.faults, self._strike)
        self.registers.active, self.registers.active_check = {}, 0
        self.registers.discard()
        self.registers.set("APPLIED", 0)

    def _apply(self) -> tuple[Failure, int]:
        registers = self.registers
        if self._slot.program is None:
            return Failure.NOT_PROGRAMMED, _NOWHERE
        if registers.get("EXPECTED_CHECK") != registers.staged_check:
            return Failure.WRONG_CHECK, REGISTERS["EXPECTED_CHECK"].address
        try:
            config = replace(config_of(registers.staged, self._ports), program=self._slot.program.program)
        except RegisterValueError as error:
            return Failure.REFUSED_VALUE, error.address
        if slots_of(config) > self._max_slots:
            return Failure.REFUSED_VALUE, REGISTERS["MAX_SLOTS"].address
        try:
            self._data.configure(config, self._programs[config.program])
        except ScenarioError:
            # Each register is good by itself, and they do not fit each other.
            return Failure.REFUSED_VALUE, _NOWHERE
        registers.apply()
        self._configured = True
        registers.set("APPLIED", registers.get("APPLIED") + 1)
        return Failure.NONE, _NOWHERE

    def _latch(self) -> None:
        counters = self._data.counters()
        for name in COUNTERS:
            self.registers.set(f"COUNT_{name.upper()}", counters.get(name, 0))
        self.registers.set("LATCHES", self.registers.get("LATCHES") + 1)

    def _finish_load(self) -> None:
        failure, stream, data = self._slot.check(self._programs)
        if failure is Failure.NONE and WrongBitstream in self.faults and stream is not None:
            self._strike(WrongBitstream)
            data = Bitstream(stream.program, stream.version, _OTHER_BITS).encode()
        self._slot.load(failure, stream, data)
        self._end(failure)
        name = stream.program if stream is not None else ""
        loaded = self._slot.hash.hex() if failure is Failure.NONE else ""
        self._events.append(CardLoaded(loaded, name, failure.name.lower()))

    def _strike(self, kind: type[CardFault]) -> None:
        if kind not in self._struck:
            self._struck.add(kind)
            self._events.append(CardFaultStruck(kind.__name__))

    # The Machine.

    def receive_frame(self, port: int, frame: Buffer, now: int) -> None:
        if not self._data.receive(port, frame, now, self._running):
            self._strike(StopsPassing)

    def receive_batch(self, batch: FrameBatch, now: int) -> None:
        if not self._data.receive_batch(batch, now, self._running):
            self._strike(StopsPassing)

    def frames_to_send(self, now: int) -> Iterator[tuple[int, Buffer]]:
        return self._data.send(now, self._running)

    def fill_batch(self, batch: FrameBatch, now: int) -> None:
        self._data.fill(batch, now, self._running)

    def get_timer(self) -> int | None:
        timers = (self._slot.due, self._data.timer(self._running))
        return min((timer for timer in timers if timer is not None), default=None)

    def handle_timer(self, now: int) -> None:
        self._now = max(self._now, now)
        if self._slot.due is not None and self._slot.due <= self._now:
            self._finish_load()
        self._data.handle_timer(now, self._running)

    def next_event(self) -> Event | None:
        if self._events:
            return self._events.popleft()
        return self._data.program.next_event() if self._data.program is not None else None

    def finish(self, now: int) -> None:
        program = self._data.program
        if program is None:
            self._events.append(SwitchStatistics(self._data.counters()))
        else:
            program.finish(now)

    @property
    def program(self) -> SwitchProgram | None:
        """What runs on the data ports; None before a configuration was applied."""
        return self._data.program

    @property
    def counters(self) -> dict[str, int]:
        """Of the program, and of the ports."""
        return self._data.counters()
