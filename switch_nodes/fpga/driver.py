"""The driver of an aggregation card, over any transport.

From outside every change is atomic. Until APPLY, a new configuration lies in a bank that nothing uses. A card runs only
what was verified. Each sequence of writes ends with a proof that the card has what was written. A client that dies
half-way through configuring leaves a card that runs as before. One that dies while programming leaves a card that
passes nothing and says so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from switch_nodes.config import SwitchConfig
from switch_nodes.fpga.bitstream import bitstream_hash
from switch_nodes.fpga.conversion import as_registers_say, config_of, slots_of, text_of, words_of
from switch_nodes.fpga.errors import CardError, RegisterValueError
from switch_nodes.fpga.registers import Access, check_of, doubled
from switch_nodes.fpga.regmap import (
    CONFIGURATION,
    COUNTERS,
    COUNTERS_OF_MINOR,
    OPERATIONS,
    PAGE_BYTES,
    REGISTERS,
    Command,
    Failure,
    Feature,
    LoadState,
    RingRole,
    Status,
    table_stride,
)
from switch_nodes.fpga.transport import CardTransport
from switch_nodes.fpga.words import CardWords, bursts
from workloads.errors import ScenarioError

__all__ = ["CardDriver", "CardIdentity", "CardState"]

_MS = 1_000_000
_POLL_NS = 10 * _MS
_LATCH_TRIES = 5


@dataclass(frozen=True, slots=True)
class CardIdentity:
    """What a card is."""

    serial: str
    map_version: str
    features: Feature
    operations: tuple[tuple[str, str], ...]
    """(op, dtype) that are built in"""
    ports: int
    max_rings: int
    max_members: int
    max_macs: int
    max_slots: int


@dataclass(frozen=True, slots=True)
class CardState:
    """What a card does now."""

    status: Status
    load_state: LoadState
    bitstream: str
    """SHA-256 in hexadecimal; empty when nothing is loaded"""
    program: str
    program_version: str
    boots: int
    applied: int
    failure: Failure
    failure_register: str


class CardDriver:
    """`clock` and `sleep` are those of the world, in ns. `card`: what messages call it.

    Every method raises CardError for what the card or the way to it does wrong, and for nothing else unless it says so.
    """

    def __init__(
        self, transport: CardTransport, *, card: str, clock: Callable[[], int], sleep: Callable[[int], None]
    ) -> None:
        self.words = CardWords(transport, card)
        self._card, self._clock, self._sleep = card, clock, sleep

    # Looking.

    def identity(self) -> CardIdentity:
        self.words.identify()
        read = self.words.word
        version, operations = read("MAP_VERSION"), read("OPERATIONS")
        return CardIdentity(
            serial=self._text("SERIAL"),
            map_version=f"{version >> 16}.{version & 0xFFFF}",
            features=Feature(read("FEATURES") & sum(Feature)),
            operations=tuple(pair for pair, bit in OPERATIONS.items() if operations & bit),
            ports=read("PORTS"),
            max_rings=read("MAX_RINGS"),
            max_members=read("MAX_MEMBERS"),
            max_macs=read("MAX_MACS"),
            max_slots=read("MAX_SLOTS"),
        )

    def state(self) -> CardState:
        self.words.identify()
        version, load_state = self.words.word("PROGRAM_VERSION"), self.words.word("LOAD_STATE")
        if load_state not in list(LoadState):
            raise CardError(
                self._card, "a code that this map does not have", register="LOAD_STATE", found=str(load_state),
                allowed=f"0 .. {max(LoadState)}",
            )  # fmt: skip
        failure, about = self.words.failure()
        digest = self._hash()
        return CardState(
            status=self.words.status(),
            load_state=LoadState(load_state),
            bitstream=digest.hex() if any(digest) else "",
            program=self._text("PROGRAM_NAME"),
            program_version=f"{version >> 16}.{version & 0xFFFF}",
            boots=self.words.word("BOOTS"),
            applied=self.words.word("APPLIED"),
            failure=failure,
            failure_register=about,
        )

    def counters(self) -> dict[str, int]:
        """All that the card's map has, of one moment."""
        minor = min(self.words.identify(), len(COUNTERS_OF_MINOR) - 1)
        names = list(COUNTERS)[: COUNTERS_OF_MINOR[minor]]
        base = REGISTERS[f"COUNT_{next(iter(COUNTERS)).upper()}"].address
        for _ in range(_LATCH_TRIES):
            self._command(Command.LATCH)
            before = self.words.word("LATCHES")
            words = self.words.read_at(base, 2 * len(names))
            if self.words.word("LATCHES") == before:
                return {name: words[2 * at] | words[2 * at + 1] << 32 for at, name in enumerate(names)}
        raise CardError(self._card, "somebody else latches the counters all the time", register="LATCHES")

    def configuration(self) -> SwitchConfig:
        """What is active, as its registers say. Only of a card that is configured."""
        self._require(Status.CONFIGURED, "nothing was applied")
        return self._read_back()

    # Changing.

    def bring_up(self, bitstream: bytes, config: SwitchConfig, *, limit_ns: int = 60_000 * _MS) -> None:
        """From whatever it was to a card that runs `config` on this bitstream. Raises as `program` and `configure`."""
        self.stop()
        self.program(bitstream, limit_ns=limit_ns)
        self.configure(config)
        self.start()

    def program(self, bitstream: bytes, *, limit_ns: int = 60_000 * _MS) -> bool:
        """Load it, unless it is loaded; whether it was loaded now. When this raises, the card runs nothing: either the
        load did not end well, or what is there is not what was sent and was erased."""
        self.words.identify()
        wanted = bitstream_hash(bitstream)
        if self.words.status() & Status.PROGRAMMED and self._hash() == wanted:
            return False
        if not Feature(self.words.word("FEATURES") & sum(Feature)) & Feature.LOADS:
            raise CardError(
                self._card, "another bitstream is loaded, and this card is not loaded through its registers",
                register="BITSTREAM_HASH", found=self._hash().hex(), allowed=wanted.hex(),
                hint="load it with the card's own tool",
            )  # fmt: skip
        self.words.write("LOAD_SIZE", len(bitstream))
        self._command(Command.LOAD_BEGIN, limit_ns=limit_ns)
        self.words.write("EXPECTED_HASH", *_big_endian(wanted))
        for page, at in enumerate(range(0, len(bitstream), PAGE_BYTES)):
            data = bitstream[at : at + PAGE_BYTES].ljust(PAGE_BYTES, b"\0")
            self.words.write(
                "LOAD_BUFFER", *(int.from_bytes(data[i : i + 4], "little") for i in range(0, PAGE_BYTES, 4))
            )
            self.words.write("LOAD_PAGE", page)
            self._expect_no_failure(f"page {page} of {-(-len(bitstream) // PAGE_BYTES)}")
        self._command(Command.LOAD_END, limit_ns=limit_ns)
        self._verify_loaded(wanted)
        return True

    def _verify_loaded(self, wanted: bytes) -> None:
        state, found = self.words.word("LOAD_STATE"), self._hash()
        if state != LoadState.LOADED or not self.words.status() & Status.PROGRAMMED:
            raise CardError(
                self._card, "not loaded, although the card reported no error", register="LOAD_STATE", found=str(state),
                allowed=f"{LoadState.LOADED} {LoadState.LOADED.name}",
            )  # fmt: skip
        if found != wanted:
            self._command(Command.ERASE)
            raise CardError(
                self._card, "another bitstream was loaded than the one that was sent", register="BITSTREAM_HASH",
                found=found.hex(), allowed=wanted.hex(), hint="the card was erased and passes nothing",
            )  # fmt: skip
        self.words.identify()

    def configure(self, config: SwitchConfig) -> None:
        """`config` from now on, or, when this raises, what was before. A card that runs goes on running; rings that
        stay as they are keep their state. Raises ScenarioError for what this card cannot be."""
        words, wanted = words_of(config), as_registers_say(config)
        identity = self.identity()
        self._check_fits(config, identity)
        self._require(Status.PROGRAMMED, "no bitstream is loaded")
        self._command(Command.DISCARD)
        check, applied = 0, self.words.word("APPLIED")
        for address, run in bursts(words, 1 << 16):
            self.words.write_at(address, run)
            check = check_of(((address + 4 * place, word) for place, word in enumerate(run)), check)
        self._expect_no_failure("writing the configuration")
        self._compare("STAGED_CHECK", check, "writes were lost, doubled or altered on the way")
        self.words.write("BANK", 0)
        self._compare_bank(words, "staged")
        self.words.write("EXPECTED_CHECK", check)
        self._command(Command.APPLY)
        self._compare("ACTIVE_CHECK", check, "something else is active than what was applied")
        self._compare("APPLIED", applied + 1, "APPLY did not happen once")
        self._require(Status.CONFIGURED, "APPLY was obeyed, and nothing is active")
        self.words.write("BANK", 1)
        self._compare_bank(words, "active")
        found = self._read_back()
        if found != wanted:
            raise CardError(
                self._card, "the active configuration is another one", found=str(found), allowed=str(wanted)
            )
        self.words.identify()

    def start(self) -> None:
        """Frames pass from now on."""
        self._command(Command.START)
        self._require(Status.RUNNING, "START was obeyed, and the card does not run")

    def stop(self) -> None:
        """No frame passes from now on."""
        self.words.identify()
        self._command(Command.STOP)
        if self.words.status() & Status.RUNNING:
            raise CardError(self._card, "STOP was obeyed, and the card runs", register="STATUS")

    def reset(self) -> None:
        """As after power-on; the bitstream stays, nothing runs."""
        self.words.identify()
        self._wait(5_000 * _MS, "busy for 5 s with what was there before RESET")
        boots = self.words.word("BOOTS")
        self._command(Command.RESET, counted=False)
        self._compare("BOOTS", boots + 1, "RESET did not happen once")

    # Parts.

    def _check_fits(self, config: SwitchConfig, card: CardIdentity) -> None:
        members = max((len(ring.members) for ring in config.rings), default=0)
        for register, wanted, has in (
            ("PORTS", config.ports, card.ports), ("MAX_RINGS", len(config.rings), card.max_rings),
            ("MAX_MEMBERS", members, card.max_members), ("MAX_MACS", len(config.macs), card.max_macs),
            ("MAX_SLOTS", slots_of(config), card.max_slots),
        ):  # fmt: skip
            if wanted > has:
                problem = f"switch {config.name} needs more than card {self._card} has (register {register})"
                raise ScenarioError(problem, found=str(wanted), allowed=f"at most {has}")
        for ring in config.rings:
            pair = (ring.arithmetic.op, ring.arithmetic.dtype)
            if pair not in card.operations:
                allowed = ", ".join(f"{op} of {dtype}" for op, dtype in card.operations)
                problem = f"switch {config.name}: ring {ring.ring_id}: card {self._card} cannot do this arithmetic"
                raise ScenarioError(problem, found=f"{pair[0]} of {pair[1]}", allowed=allowed)
            lacking = (Feature.FABRIC if ring.links is not None else Feature(0)) | (
                Feature.IPV6 if len(ring.members[0].ip) == 16 else Feature(0)
            )
            if lacking & ~card.features:
                problem = f"switch {config.name}: ring {ring.ring_id}: card {self._card} lacks a feature"
                raise ScenarioError(problem, found=str(lacking.name), allowed=str(card.features.name))

    def _command(self, command: Command, *, limit_ns: int = 5_000 * _MS, counted: bool = True) -> None:
        """Give it, wait for its end, and see that it was taken once and obeyed. A card may still be busy with the work
        of a client that died. It would refuse this client's work, and then report the end of the other's."""
        self._wait(limit_ns, f"busy for {limit_ns / 1e9:g} s with what was there before {command.name}")
        before = self.words.word("COMMANDS")
        self.words.write("CONTROL", doubled(int(command)))
        self._wait(limit_ns, f"{command.name} is not done after {limit_ns / 1e9:g} s")
        if counted:
            self._compare("COMMANDS", before + 1 & 0xFFFFFFFF, f"{command.name} was not taken exactly once")
        self._expect_no_failure(command.name)

    def _wait(self, limit_ns: int, problem: str) -> None:
        deadline = self._clock() + limit_ns
        while self.words.status() & Status.BUSY:
            if self._clock() >= deadline:
                raise CardError(self._card, problem, register="STATUS", found="BUSY")
            self._sleep(_POLL_NS)

    def _expect_no_failure(self, what: str) -> None:
        failure, about = self.words.failure()
        if failure is not Failure.NONE:
            where = f" about {about}" if about else ""
            raise CardError(
                self._card, f"{what}: the card refuses{where}", register="ERROR",
                found=f"{failure.value} {failure.name}", allowed="0 NONE",
            )  # fmt: skip

    def _compare(self, name: str, wanted: int, problem: str) -> None:
        found = self.words.word(name)
        if found != wanted:
            raise CardError(self._card, problem, register=name, found=f"{found:#x}", allowed=f"{wanted:#x}")

    def _compare_bank(self, words: dict[int, int], bank: str) -> None:
        for address, run in bursts(words, 1 << 16):
            for place, (found, wanted) in enumerate(zip(self.words.read_at(address, len(run)), run, strict=True)):
                if found != wanted:
                    name = REGISTERS.name_of(address + 4 * place)
                    problem = f"the {bank} bank does not hold what was written"
                    raise CardError(self._card, problem, register=name, found=f"{found:#x}", allowed=f"{wanted:#x}")

    def _require(self, status: Status, problem: str) -> None:
        found = self.words.status()
        if not found & status:
            raise CardError(
                self._card, problem, register="STATUS", found=found.name or "nothing", allowed=str(status.name)
            )

    def _hash(self) -> bytes:
        return b"".join(word.to_bytes(4, "big") for word in self.words.read("BITSTREAM_HASH"))

    def _text(self, name: str) -> str:
        try:
            return text_of(self.words.read(name))
        except UnicodeDecodeError:
            raise CardError(self._card, "no UTF-8 text", register=name) from None

    def _read_back(self) -> SwitchConfig:
        """The active bank as a configuration: the tables only as far as they are used."""
        self.words.write("BANK", 1)
        words: dict[int, int] = {}

        def take(address: int, count: int) -> None:
            for place, word in enumerate(self.words.read_at(address, count)):
                words[address + 4 * place] = word

        general = REGISTERS["LABEL"].address
        take(general, (REGISTERS["RING_COUNT"].end - general) // 4)
        macs, rings = (words[REGISTERS[name].address] for name in ("MAC_COUNT", "RING_COUNT"))
        ports = self.words.word("PORTS")
        for number in range(min(macs, self.words.word("MAX_MACS"))):
            take(REGISTERS[f"MAC{number}_HIGH"].address, 3)
        for number in range(min(rings, self.words.word("MAX_RINGS"))):
            begin = REGISTERS[f"RING{number}_ID"].address
            take(begin, (REGISTERS[f"RING{number}_SUCCESSOR_IP"].end - begin) // 4)
            if words[REGISTERS[f"RING{number}_ROLE"].address] == RingRole.LEAF:
                uplinks = words[REGISTERS[f"RING{number}_UPLINKS"].address]
                take(REGISTERS[f"RING{number}_UPLINK_PORT"].address, min(max(uplinks, 1), 64))
            members = words[REGISTERS[f"RING{number}_MEMBERS"].address]
            for member in range(min(members, table_stride("ring") // table_stride("member"), 64)):
                take(REGISTERS[f"RING{number}_MEMBER{member}_RANK"].address, 10)
        self.words.write("BANK", 0)
        try:
            return config_of(words, ports)
        except RegisterValueError as error:
            raise CardError(
                self._card, "cannot hold this", register=REGISTERS.name_of(error.address),
                found=f"{error.found:#x}", allowed=error.allowed,
            ) from None  # fmt: skip

    def dump(self) -> list[tuple[str, int, int]]:
        """(name, address, value) of the readable registers below the configuration, the load buffer left out."""
        self.words.identify()
        found = []
        for register in REGISTERS:
            if register.address in CONFIGURATION or register.access is Access.WRITE or register.name == "LOAD_BUFFER":
                continue
            if register.name == "READ_CHECK":
                continue
            words, each = self.words.read(register.name), register.width // 32
            for place in range(register.count):
                address = register.at(place)
                value = sum(word << 32 * at for at, word in enumerate(words[place * each : (place + 1) * each]))
                found.append((REGISTERS.name_of(address), address, value))
        return found


def _big_endian(data: bytes) -> list[int]:
    return [int.from_bytes(data[at : at + 4], "big") for at in range(0, len(data), 4)]
