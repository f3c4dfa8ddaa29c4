"""The register bus: identity, control, checks, counters, and the window on the two banks (`docs/registers.md`).

A card of this kind is loaded by its own tool. It has no FEATURES bit LOADS: LOAD_STATE is LOADED, and the pins `hash`,
`name` and `version` say what was loaded. Addresses of loading through registers are unused ones.
"""

from __future__ import annotations

from amaranth.hdl import Array, Cat, Const, Elaboratable, Module, Mux, Signal, Value

from switch_nodes.fpga.conversion import text_words
from switch_nodes.fpga.regmap import (
    COUNTERS,
    MAGIC,
    MAP_VERSION,
    OPERATIONS,
    REGISTERS,
    Command,
    Failure,
    Feature,
    LoadState,
)
from switch_nodes.fpga.rtl.applying import Applier
from switch_nodes.fpga.rtl.counters import CardCounters
from switch_nodes.fpga.rtl.crc import absorbed
from switch_nodes.fpga.rtl.memory import Ram
from switch_nodes.fpga.rtl.naming import name_signals
from switch_nodes.fpga.rtl.parameters import RtlParameters
from switch_nodes.fpga.rtl.plants import Plants

__all__ = ["PROGRAM_NAME", "PROGRAM_VERSION", "Registers"]

_ONES = 0xFFFFFFFF
PROGRAM_NAME, PROGRAM_VERSION = "netreduce", 0x0001_0000
_SERIAL = "ina-rtl"
_FEATURES = Feature.IPV6
_COUNTERS_AT = REGISTERS[f"COUNT_{next(iter(COUNTERS)).upper()}"].address


class Registers(Elaboratable):
    """`strobe` with `address`, `write` and `w_data`; `ack` for one cycle, with `r_data`. `hash`: SHA-256 of what was
    loaded, 8 words, the first one lowest. `running`: frames pass. `qpn`: what `qpn_ram` holds of (ring, member)."""

    def __init__(
        self, p: RtlParameters, applier: Applier, counters: CardCounters, plants: Plants | None = None, *,
        verilog: bool = True,
    ) -> None:  # fmt: skip
        self.p, self._applier, self._counters = p, applier, counters
        self._plants = plants or Plants()
        self.strobe, self.write, self.ack = Signal(), Signal(), Signal()
        self.address, self.w_data, self.r_data = Signal(32), Signal(32), Signal(32)
        self.hash = Signal(256)
        self.running, self.was_reset = Signal(), Signal()
        self.qpn_ram = Ram(25, p.rings * p.members, verilog=verilog)
        """QPN and, in bit 24, whether it is known; address (context, member)"""
        name_signals(self)

    def elaborate(self, platform: object) -> Module:
        p, m, applier, counters = self.p, Module(), self._applier, self._counters
        m.submodules.qpns = qpns = self.qpn_ram
        address, data = self.address, self.w_data
        error, error_address = Signal(5), Signal(32, init=_ONES)
        echo, bank = Signal(32, init=_ONES), Signal(32)
        read_crc, staged_crc, active_crc = (Signal(32, init=_ONES, name=name) for name in ("reads", "writes", "used"))
        expected, commands, applied, latches = (Signal(32) for _ in range(4))
        boots = Signal(32)
        configured, busy = Signal(), Signal(init=1)
        pending = Signal(range(16))

        known, index, is_qpn, ring, member = applier.map.decode(m, address)
        status = Cat(Const(1, 1), configured, self.running, busy, Const(0, 12))
        values: dict[str, list[Value | int]] = {
            "MAGIC": [MAGIC], "MAP_VERSION": [MAP_VERSION], "ECHO": [echo], "FEATURES": [int(_FEATURES)],
            "OPERATIONS": [sum(bit for (_, dtype), bit in OPERATIONS.items() if p.floats or dtype != "float32")],
            "PORTS": [p.ports], "MAX_RINGS": [p.rings], "MAX_MEMBERS": [p.members], "MAX_MACS": [p.macs],
            "MAX_SLOTS": [p.slots], "BOOTS": [boots], "SERIAL": list(text_words(_SERIAL, 4)),
            "STATUS": [Cat(status, ~status)], "ERROR": [error], "ERROR_ADDRESS": [error_address],
            "COMMANDS": [commands], "BANK": [bank], "STAGED_CHECK": [~staged_crc], "EXPECTED_CHECK": [expected],
            "ACTIVE_CHECK": [~active_crc], "APPLIED": [applied], "LOAD_STATE": [int(LoadState.LOADED)],
            "LOADED_PAGES": [0], "LOAD_MS": [0], "PROGRAM_VERSION": [PROGRAM_VERSION],
            "BITSTREAM_HASH": [self.hash.word_select(at, 32) for at in range(8)],
            "PROGRAM_NAME": list(text_words(PROGRAM_NAME, 4)), "LATCHES": [latches],
        }  # fmt: skip
        shown, is_plain = Signal(32), Signal()
        with m.Switch(address):
            for name, words in values.items():
                for at, value in enumerate(words):
                    with m.Case(REGISTERS[name].at(at)):
                        m.d.comb += [shown.eq(value), is_plain.eq(1)]
            with m.Default():
                m.d.comb += shown.eq(_ONES)
        is_counter = (address >= _COUNTERS_AT) & (address < _COUNTERS_AT + 8 * len(COUNTERS))
        m.d.comb += counters.select.eq((address - _COUNTERS_AT)[3:])
        is_check = address == REGISTERS["READ_CHECK"].address
        is_control = address == REGISTERS["CONTROL"].address
        writable = {"ECHO": echo, "BANK": bank, "EXPECTED_CHECK": expected}

        result = Signal(32)
        m.d.comb += [
            applier.bus_index.eq(index), applier.bus_data.eq(data),
            qpns.r_addr.eq(Array(applier.order)[ring] * p.members + member), self.r_data.eq(result),
        ]  # fmt: skip
        staged_free = ~applier.busy
        in_configuration = address >= REGISTERS["LABEL"].address

        counted = Signal(32)  # the word that a check takes in
        checked = Mux(self._plants["read-check-no-address"], 0, address)
        read_after = absorbed(m, read_crc, Cat(checked[0:32], counted))
        staged_after = absorbed(m, staged_crc, Cat(address, data))

        def count_read(word: Value) -> None:
            m.d.comb += counted.eq(word)
            m.d.sync += [read_crc.eq(read_after), result.eq(word)]
            m.next = "ACK"

        def refuse(failure: Failure, about: Value | int) -> None:
            m.d.sync += [error.eq(int(failure)), error_address.eq(about)]

        with m.FSM():
            with m.State("IDLE"), m.If(self.strobe & (~in_configuration | staged_free)):
                m.next = "WRITE"
                with m.If(~self.write):
                    m.next = "READ"
            with m.State("READ"):
                count = Mux(address[2], counters.copy[32:64], counters.copy[0:32])
                with m.If(is_check):
                    m.d.sync += result.eq(~read_crc)
                    m.next = "ACK"
                with m.Elif(known | is_qpn):
                    m.next = "READ_MEMORY"
                with m.Elif(is_counter):
                    count_read(count)
                with m.Else():
                    count_read(shown)
            with m.State("READ_MEMORY"):
                in_use = Array(context.members for context in applier.rings)[Array(applier.order)[ring]]
                learnt = qpns.r_data[24] & configured & (ring < applier.ring_count) & (member < in_use)
                kept = Mux(bank[0], applier.active.r_data, applier.staged.r_data)
                count_read(Mux(is_qpn, Mux(learnt, qpns.r_data[0:24], _ONES), kept)[0:32])
            with m.State("WRITE"):
                m.next = "ACK"
                with m.If(known):
                    m.d.comb += applier.bus_write.eq(1)
                    m.d.sync += staged_crc.eq(staged_after)
                with m.Elif(is_check):
                    m.d.sync += read_crc.eq(_ONES)
                with m.Elif(is_control):
                    m.next = "COMMAND"
                with m.Else():
                    taken: Value = Const(0)
                    for name, register in writable.items():
                        here = address == REGISTERS[name].address
                        taken = taken | here
                        with m.If(here):
                            m.d.sync += register.eq(~data if name == "ECHO" else data)
                    with m.If(~taken):
                        refuse(Failure.NOT_WRITABLE, address)
            with m.State("COMMAND"):
                m.next = "ACK"
                m.d.sync += commands.eq(commands + 1)
                with m.If((data[0:16] != ~data[16:32]) | (data[0:16] == 0) | (data[0:16] > int(Command.LATCH))):
                    refuse(Failure.UNKNOWN_COMMAND, _ONES)
                with m.Elif(busy):
                    refuse(Failure.BUSY, _ONES)
                with m.Else():
                    refuse(Failure.NONE, _ONES)
                    with m.Switch(data[0:4]):
                        with m.Case(int(Command.DISCARD)):
                            m.d.comb += applier.discard.eq(1)
                            m.d.sync += [staged_crc.eq(_ONES), busy.eq(1), pending.eq(int(Command.DISCARD))]
                        with m.Case(int(Command.APPLY)):
                            with m.If(expected != ~staged_crc):
                                refuse(Failure.WRONG_CHECK, REGISTERS["EXPECTED_CHECK"].address)
                            with m.Else():
                                m.d.comb += applier.start.eq(1)
                                m.d.sync += [busy.eq(1), pending.eq(int(Command.APPLY))]
                        with m.Case(int(Command.START)):
                            with m.If(configured):
                                m.d.sync += self.running.eq(1)
                            with m.Else():
                                refuse(Failure.NOT_CONFIGURED, _ONES)
                        with m.Case(int(Command.STOP)):
                            m.d.sync += self.running.eq(0)
                        with m.Case(int(Command.RESET)):
                            m.d.comb += [applier.reset.eq(1), counters.clear.eq(1), self.was_reset.eq(1)]
                            m.d.sync += [busy.eq(1), pending.eq(int(Command.RESET)), self.running.eq(0)]
                        with m.Case(int(Command.LATCH)):
                            m.d.comb += counters.latch.eq(1)
                            m.d.sync += latches.eq(latches + 1)
            with m.State("ACK"):
                m.d.comb += self.ack.eq(1)
                m.next = "WAIT"
            with m.State("WAIT"), m.If(~self.strobe):
                m.next = "IDLE"
        # A RESET, and power: `pending` is 0 then.
        with m.If(applier.done):
            m.d.sync += busy.eq(0)
            with m.If(pending == int(Command.APPLY)):
                with m.If(applier.failure == 0):
                    m.d.sync += [configured.eq(1), applied.eq(applied + 1), active_crc.eq(staged_crc)]
                with m.Else():
                    refuse(Failure.REFUSED_VALUE, applier.address)
            with m.If((pending == 0) | (pending == int(Command.RESET))):
                m.d.sync += [
                    boots.eq(boots + 1), configured.eq(0), self.running.eq(0), staged_crc.eq(_ONES),
                    active_crc.eq(_ONES), applied.eq(0), commands.eq(0), bank.eq(0), expected.eq(0), latches.eq(0),
                    error.eq(0), error_address.eq(_ONES), echo.eq(_ONES), read_crc.eq(_ONES),
                ]  # fmt: skip
        return m
