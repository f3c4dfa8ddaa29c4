"""The register file of an emulated card: words, two banks of configuration, the running checks of reads and writes.
What a command does is the card's business."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from switch_nodes.fpga.registers import WORD, Access, check_of
from switch_nodes.fpga.regmap import CONFIGURATION, REGISTERS

__all__ = ["RegisterFile"]

_MASK = 0xFFFFFFFF
_ECHO, _READ_CHECK, _BANK = (REGISTERS[name].address for name in ("ECHO", "READ_CHECK", "BANK"))
_RESET = REGISTERS.reset_words()
_NOTHING = _MASK
"""what a read of an address gives where nothing is"""


class RegisterFile:
    """`fixed`: registers that say something else than the map's reset values, by name, always. `on_write(address,
    word)` is called for a write to a register that only the card itself can act on. `on_refused(address)` is called for
    a write to an address where nothing can be written."""

    def __init__(
        self,
        fixed: Mapping[str, int],
        on_write: Callable[[int, int], None],
        on_refused: Callable[[int], None],
    ) -> None:
        self._fixed = {REGISTERS[name].address: value for name, value in fixed.items()}
        self._on_write, self._on_refused = on_write, on_refused
        self.staged: dict[int, int] = {}
        """words that were written since the bank was discarded"""
        self.active: dict[int, int] = {}
        self.staged_check = self.active_check = 0
        self._words: dict[int, int] = {}
        self.reset()

    def reset(self) -> None:
        """All registers as after power-on."""
        self._words = {address: word for address, word in _RESET.items() if address not in CONFIGURATION}
        self._words |= self._fixed
        self._read_check = 0
        self.active, self.active_check = {}, 0
        self.discard()

    def discard(self) -> None:
        self.staged, self.staged_check = {}, 0

    def apply(self) -> None:
        """The staged bank becomes the active one."""
        self.active, self.active_check = dict(self.staged), self.staged_check

    def get(self, name: str, index: int = 0) -> int:
        """A register outside the configuration, of 32 bits."""
        return self._words[REGISTERS[name].at(index)]

    def set(self, name: str, value: int, index: int = 0) -> None:
        """As the card itself does; 64 bits are two words."""
        register = REGISTERS[name]
        for word in range(register.width // 32):
            self._words[register.at(index) + WORD * word] = value >> 32 * word & _MASK

    def read(self, address: int) -> int:
        """The word at an address, as the bus gets it."""
        if address == _READ_CHECK:
            return self._read_check
        if address in CONFIGURATION:
            bank = self.active if self._words[_BANK] & 1 else self.staged
            word = bank.get(address, _RESET.get(address, _NOTHING))
        else:
            word = self._words.get(address, _NOTHING)
        self._read_check = check_of([(address, word)], self._read_check)
        return word

    def show(self, address: int, word: int) -> int:
        """A read whose answer the card makes up at that moment."""
        self._read_check = check_of([(address, word)], self._read_check)
        return word

    def write(self, address: int, word: int) -> None:
        register = REGISTERS.at(address)
        if register is None or register.access is Access.READ:
            self._on_refused(address)
        elif address in CONFIGURATION:
            self.staged[address] = word
            self.staged_check = check_of([(address, word)], self.staged_check)
        elif address == _READ_CHECK:
            self._read_check = 0
        elif address == _ECHO:
            self._words[address] = ~word & _MASK
        elif register.access is Access.WRITE:
            self._on_write(address, word)
        else:
            self._words[address] = word
