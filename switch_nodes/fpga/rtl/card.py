"""The card in hardware as a card of a lab: a Machine on its data ports and a register bus, as the emulated card is. It
is simulated cycle by cycle, a slice at a time, so that its registers answer while frames are inside.

The register bus is the hardware's own. What is written to it is only watched: which commands came, and which rings the
active bank has.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from switch_nodes.config import SwitchConfig
from switch_nodes.fpga.conversion import config_of
from switch_nodes.fpga.events import CardCommanded
from switch_nodes.fpga.registers import WORD, doubled_value
from switch_nodes.fpga.regmap import CONFIGURATION, REGISTERS, Command, Failure, Status
from switch_nodes.fpga.rtl.program import SlotBook
from switch_nodes.fpga.rtl.simulation.library import SimulatedCard
from workloads.errors import InternalError
from workloads.machine import Buffer, Event

__all__ = ["RtlCard"]

_SLICE_CYCLES = 4_000
"""some 30 ms: clients of the registers wait 200 ms for an answer"""
_MOST_CYCLES = 2_000_000
"""cycles without a frame out or a happening after which the hardware is stuck"""
_CONTROL, _STATUS, _ERROR = (REGISTERS[name].address for name in ("CONTROL", "STATUS", "ERROR"))
_READ_CHECK = REGISTERS["READ_CHECK"].address
_MOST_LOOKS = 100_000
_ADDRESSES = 1 << 32


class RtlCard:
    """`ports`: of the hardware, each with a cable."""

    def __init__(self, card: SimulatedCard, ports: int) -> None:
        self._card, self._ports = card, ports
        self._events: deque[Event] = deque()
        self._staged: dict[int, int] = {}
        self._book: SlotBook | None = None
        self._config: SwitchConfig | None = None
        self._wakes_at: int | None = None
        self._since_progress = 0
        self._is_up = False

    # The bus.

    @property
    def answers(self) -> bool:
        """Always: the hardware itself does."""
        return True

    def read(self, address: int, size: int, now: int) -> bytes:
        """`size` bytes from `address` on. Raises ValueError for anything but whole words, and beyond the last
        address."""
        _check(address, size)
        self._power_up()
        return self._card.read(address, size)

    def write(self, address: int, data: bytes, now: int) -> None:
        """Raises as `read`."""
        _check(address, len(data))
        self._power_up()
        for at in range(0, len(data), WORD):
            self._write_word(address + at, data[at : at + WORD])

    def _write_word(self, address: int, data: bytes) -> None:
        self._card.write(address, data)
        word = int.from_bytes(data, "little")
        if address in CONFIGURATION:
            self._staged[address] = word
        elif address == _CONTROL:
            self._command(word)

    def _power_up(self) -> None:
        """Before the first access: memories are cleared, for which a simulation takes longer than clients wait."""
        if not self._is_up:
            self._is_up = True
            self._await_end()
            self._card.write(_READ_CHECK, bytes(WORD))

    def _await_end(self) -> None:
        """Of what makes the card BUSY."""
        for _ in range(_MOST_LOOKS):
            if not (doubled_value(self._word(_STATUS)) or 0) & Status.BUSY:
                return
        raise InternalError(f"the simulated card is stuck: BUSY after {_MOST_LOOKS:,} reads of STATUS")

    def _command(self, word: int) -> None:
        """Wait for its end, and report it. Our reads count in READ_CHECK, so it is 0 again afterwards; drivers set it
        to 0 before each read that they check."""
        self._await_end()
        failure = Failure(self._word(_ERROR))
        self._card.write(_READ_CHECK, bytes(WORD))
        code = doubled_value(word)
        name = Command(code).name.lower() if code in list(Command) else f"{word:#010x}"
        self._events.append(CardCommanded(name, failure.name.lower()))
        if failure is not Failure.NONE:
            return
        if code in (Command.DISCARD, Command.RESET):
            self._staged = {}
        if code == Command.RESET:
            self._book = self._config = None
        elif code == Command.APPLY:
            config = config_of(self._staged, self._ports)
            if self._config is None or config.rings != self._config.rings:
                self._book = SlotBook(config)
            self._config = config

    def _word(self, address: int) -> int:
        return int.from_bytes(self._card.read(address, WORD), "little")

    # The Machine.

    def receive_frame(self, port: int, frame: Buffer, now: int) -> None:
        self._card.push(port, frame)
        self._wakes_at = now

    def frames_to_send(self, now: int) -> Iterator[tuple[int, Buffer]]:
        for emitted in self._card.emitted():
            self._since_progress = 0
            yield emitted.port, emitted.frame

    def get_timer(self) -> int | None:
        """At once, while frames are inside."""
        return self._wakes_at

    def handle_timer(self, now: int) -> None:
        """Simulate a slice. Raises InternalError when the hardware is stuck, or breaks a rule of its ports."""
        if self._wakes_at is None or now < self._wakes_at:
            return
        self._wakes_at = None if self._card.run(_SLICE_CYCLES) else now
        self._since_progress += _SLICE_CYCLES
        for happened in self._card.happenings():
            self._since_progress = 0
            if self._book is not None:
                self._events += self._book.events_of(happened)
        if self._card.wrong_beats:
            raise InternalError("the simulated card emitted beats that AXI4-Stream does not allow")
        if self._wakes_at is None:
            self._since_progress = 0
        elif self._since_progress > _MOST_CYCLES:
            raise InternalError(f"the simulated card is stuck: nothing came out for {self._since_progress:,} cycles")

    def next_event(self) -> Event | None:
        return self._events.popleft() if self._events else None

    def finish(self, now: int) -> None:
        """Its totals stay in its registers. A driver reads them, since LATCH counts as a command."""
        if self._book is not None:
            self._events += self._book.at_end()


def _check(address: int, size: int) -> None:
    if address % WORD or size % WORD or size <= 0 or address < 0 or address + size > _ADDRESSES:
        raise ValueError(f"{size} bytes at {address:#x} are not whole words below {_ADDRESSES:#x}")
