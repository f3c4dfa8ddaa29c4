"""The bitstream slot of an emulated card. Pages come in, in any order, each as often as the client likes. Then all of
it is checked and loaded, or nothing is."""

from __future__ import annotations

from collections.abc import Container

from switch_nodes.fpga.bitstream import Bitstream, BitstreamError, bitstream_hash
from switch_nodes.fpga.conversion import text_words
from switch_nodes.fpga.registerfile import RegisterFile
from switch_nodes.fpga.regmap import PAGE_BYTES, REGISTERS, Failure, LoadState

__all__ = ["LoadSlot"]

_HASH_WORDS = REGISTERS["BITSTREAM_HASH"].count
_NAME_WORDS = REGISTERS["PROGRAM_NAME"].count
_BUFFER = REGISTERS["LOAD_BUFFER"]


class LoadSlot:
    """Shows its progress in the registers of loading. `load_ns`: how long a load takes."""

    def __init__(self, registers: RegisterFile, load_ns: int) -> None:
        self._registers, self._load_ns = registers, load_ns
        self.state = LoadState.EMPTY
        self.program: Bitstream | None = None
        """what is loaded"""
        self.hash = bytes(32)
        """hash of the bitstream"""
        self.due: int | None = None
        """time when the load under way ends"""
        self._pages: dict[int, bytes] = {}
        self._load_ms = 0

    @property
    def busy(self) -> bool:
        return self.due is not None

    @property
    def stored(self) -> int:
        """Different pages so far."""
        return len(self._pages)

    def begin(self) -> None:
        self.erase()
        self.state = LoadState.LOADING
        self.tell()

    def erase(self) -> None:
        self.state, self.program, self.hash, self.due = LoadState.EMPTY, None, bytes(32), None
        self._pages = {}
        self.tell()

    def fail(self) -> None:
        """The load under way comes to nothing."""
        self.erase()
        self.state = LoadState.FAILED
        self.tell()

    def store(self, page: int) -> bool:
        """LOAD_BUFFER as page number `page`; whether it belongs to a load under way."""
        if self.state is not LoadState.LOADING or self.busy or page >= self._page_count:
            return False
        words = (self._registers.get(_BUFFER.name, index) for index in range(_BUFFER.count))
        self._pages[page] = b"".join(word.to_bytes(4, "little") for word in words)
        self.tell()
        return True

    @property
    def _page_count(self) -> int:
        return -(-self._registers.get("LOAD_SIZE") // PAGE_BYTES)

    def begin_check(self, now: int) -> None:
        """LOAD_END came."""
        self.due = now + self._load_ns
        self._load_ms = self._load_ns // 1_000_000

    def check(self, programs: Container[str]) -> tuple[Failure, Bitstream | None, bytes]:
        """What becomes of the load: how it ends, what it is, its bytes."""
        size = self._registers.get("LOAD_SIZE")
        if len(self._pages) < self._page_count or not size:
            return Failure.SHORT_LOAD, None, b""
        data = b"".join(self._pages[page] for page in range(self._page_count))[:size]
        words = (self._registers.get("EXPECTED_HASH", index) for index in range(_HASH_WORDS))
        if b"".join(word.to_bytes(4, "big") for word in words) != bitstream_hash(data):
            return Failure.WRONG_HASH, None, data
        try:
            stream = Bitstream.decode(data)
        except BitstreamError:
            return Failure.NOT_A_BITSTREAM, None, data
        return (Failure.NONE if stream.program in programs else Failure.NOT_A_BITSTREAM), stream, data

    def load(self, failure: Failure, stream: Bitstream | None, data: bytes) -> None:
        """The load ends so; `data` is what is in the slot from now on, if it ends well."""
        self.erase()
        self.state = LoadState.FAILED
        if failure is Failure.NONE:
            self.state, self.program, self.hash = LoadState.LOADED, stream, bitstream_hash(data)
        self.tell()

    def tell(self) -> None:
        registers, program = self._registers, self.program
        registers.set("LOAD_STATE", int(self.state))
        registers.set("LOADED_PAGES", len(self._pages))
        registers.set("LOAD_MS", self._load_ms)
        registers.set("PROGRAM_VERSION", 0 if program is None else program.version_word)
        for index in range(_HASH_WORDS):
            registers.set("BITSTREAM_HASH", int.from_bytes(self.hash[4 * index : 4 * index + 4], "big"), index)
        for index, word in enumerate(text_words("" if program is None else program.program, _NAME_WORDS)):
            registers.set("PROGRAM_NAME", word, index)
