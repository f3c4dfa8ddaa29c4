"""Words of a card's registers by a transport, each proven to be what the card read: the floor that the driver stands
on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeVar

from switch_nodes.fpga.errors import CardError
from switch_nodes.fpga.registers import WORD, check_of, doubled_value
from switch_nodes.fpga.regmap import MAGIC, MAP_VERSION, REGISTERS, Failure, Status
from switch_nodes.fpga.transport import CardTransport

__all__ = ["CardWords", "bursts"]

_TRIES = 3
_READ_CHECK = REGISTERS["READ_CHECK"].address
_T = TypeVar("_T")
_CHALLENGES = (0x5A5A_A5A5, 0x0000_0000, 0xFFFF_FFFF, 0x1234_5678)


def bursts(words: Mapping[int, int], max_bytes: int) -> Iterator[tuple[int, list[int]]]:
    """(address, words side by side), ascending."""
    run: list[int] = []
    begin = 0
    for address in sorted(words):
        if run and (address != begin + WORD * len(run) or WORD * len(run) >= max_bytes):
            yield begin, run
            run = []
        begin = address if not run else begin
        run.append(words[address])
    if run:
        yield begin, run


class CardWords:
    """`card`: what messages call it. All of these raise CardError: without an answer, when reads are garbage, when the
    device is no aggregation card."""

    def __init__(self, transport: CardTransport, card: str) -> None:
        self.card = card
        self._transport = transport
        self._challenges = 0

    def _ask(self, what: str, access: Callable[[], _T]) -> _T:
        try:
            return access()
        except (OSError, ValueError) as error:
            raise CardError(
                self.card,
                f"the card does not answer ({error})",
                register=what,
                hint="a configuration under way is not in use, and the next one begins from the start",
            ) from error

    def write(self, name: str, *words: int, index: int = 0) -> None:
        """Words to a register and those side by side with it."""
        self.write_at(REGISTERS[name].at(index), words)

    def write_at(self, address: int, words: Iterable[int]) -> None:
        data = b"".join(word.to_bytes(WORD, "little") for word in words)
        most, name = self._transport.max_bytes, REGISTERS.name_of(address)
        for at in range(0, len(data), most):
            self._ask(name, lambda at=at: self._transport.write(address + at, data[at : at + most]))  # type: ignore[misc]

    def read(self, name: str, count: int | None = None) -> tuple[int, ...]:
        """All words of a register, or `count` of them."""
        register = REGISTERS[name]
        return self.read_at(register.address, (register.end - register.address) // WORD if count is None else count)

    def word(self, name: str) -> int:
        """A register of one word."""
        return self.read(name, 1)[0]

    def read_at(self, address: int, count: int) -> tuple[int, ...]:
        """`count` words. They are what the card read, or this raises: READ_CHECK is its check over them. Asked again
        when it does not fit, since another client may have read in between."""
        name, most = REGISTERS.name_of(address), self._transport.max_bytes // WORD
        words: list[int] = []
        for begin in range(0, count, most):
            words += self._checked(name, address + WORD * begin, min(most, count - begin))
        return tuple(words)

    def _checked(self, name: str, address: int, count: int) -> list[int]:
        found = expected = 0
        for _ in range(_TRIES):
            self._ask(name, lambda: self._transport.write(_READ_CHECK, bytes(WORD)))
            data = self._ask(name, lambda: self._transport.read(address, WORD * count))
            words = [int.from_bytes(data[at : at + WORD], "little") for at in range(0, WORD * count, WORD)]
            expected = check_of((address + WORD * place, word) for place, word in enumerate(words))
            found = int.from_bytes(self._ask("READ_CHECK", lambda: self._transport.read(_READ_CHECK, WORD)), "little")
            if found == expected:
                return words
        raise CardError(
            self.card,
            f"reads are garbage: READ_CHECK does not fit the words read, {_TRIES} times",
            register=name,
            found=f"{found:#010x} for {', '.join(f'{word:#010x}' for word in words[:4])}",
            allowed=f"{expected:#010x}",
            hint="no card, another map, a dead bus, or somebody else reads at the same time",
        )

    def identify(self) -> int:
        """A card with this map is there, and the bus carries ones and zeros both ways. Its minor version of the map."""
        magic = self._ask("MAGIC", lambda: self._transport.read(REGISTERS["MAGIC"].address, WORD))
        found = int.from_bytes(magic, "little")
        if found != MAGIC:
            raise CardError(
                self.card,
                "no aggregation card answers",
                register="MAGIC",
                found=f"{found:#010x}",
                allowed=f"{MAGIC:#010x}",
            )
        version = self.word("MAP_VERSION")
        if version >> 16 != MAP_VERSION >> 16:
            raise CardError(
                self.card, "another register map", register="MAP_VERSION",
                found=_version(version), allowed=f"{MAP_VERSION >> 16}.x",
            )  # fmt: skip
        self._challenges += 1
        challenge = _CHALLENGES[self._challenges % len(_CHALLENGES)]
        self.write("ECHO", challenge)
        echo = self.word("ECHO")
        if echo != challenge ^ 0xFFFFFFFF:
            raise CardError(
                self.card, "does not give back what was written", register="ECHO",
                found=f"{echo:#010x}", allowed=f"{challenge ^ 0xFFFFFFFF:#010x}",
            )  # fmt: skip
        return version & 0xFFFF

    def status(self) -> Status:
        word = self.word("STATUS")
        value = doubled_value(word)
        if value is None:
            raise CardError(
                self.card, "its halves are not complements", register="STATUS", found=f"{word:#010x}",
                allowed="bits, their complement in the upper half",
            )  # fmt: skip
        return Status(value & sum(Status))

    def failure(self) -> tuple[Failure, str]:
        """(what ERROR says, the register that it is about or nothing)."""
        code, address = self.word("ERROR"), self.word("ERROR_ADDRESS")
        if code not in list(Failure):
            raise CardError(
                self.card, "a code that this map does not have", register="ERROR", found=str(code),
                allowed=f"0 .. {max(Failure)}",
            )  # fmt: skip
        return Failure(code), "" if address == 0xFFFFFFFF else REGISTERS.name_of(address)


def _version(word: int) -> str:
    return f"{word >> 16}.{word & 0xFFFF}"
