"""The two configuration banks: where a register of the configuration lies in the memory of a bank."""

from __future__ import annotations

from dataclasses import dataclass

from amaranth.hdl import Array, Const, Module, Signal, Value

from switch_nodes.fpga.registers import WORD
from switch_nodes.fpga.regmap import MAC_FIELDS, MEMBER_FIELDS, REGISTERS, RING_FIELDS, table_stride
from switch_nodes.fpga.rtl.parameters import RtlParameters

__all__ = ["BankMap", "field_word"]

_GENERAL_AT, _MAC_AT = REGISTERS["LABEL"].address, MAC_FIELDS[0].address
_RING_AT, _MEMBER_AT = RING_FIELDS[0].address, MEMBER_FIELDS[0].address
_QPN_AT = MEMBER_FIELDS[-1].address
_GENERAL_WORDS = (REGISTERS["RING_COUNT"].end - _GENERAL_AT) // WORD
_MAC_WORDS = table_stride("mac") // WORD
_RING_WORDS = 128
"""words kept per ring, members not included: fields, and UPLINK_PORT from word 64 on"""
_MEMBER_WORDS = table_stride("member") // WORD


def field_word(name: str) -> int:
    """Word of a register in its record: `MEMBER_PORT`, `RING_ID`, `MAC_LOW`, or a general one."""
    for prefix, fields in (("MEMBER_", MEMBER_FIELDS), ("RING_", RING_FIELDS), ("MAC_", MAC_FIELDS)):
        for register in fields:
            if name == prefix + register.name:
                return (register.address - fields[0].address) // WORD
    return (REGISTERS[name].address - _GENERAL_AT) // WORD


@dataclass(frozen=True, slots=True)
class BankMap:
    """Words of a bank: the general ones, the MAC table, the rings, their members."""

    p: RtlParameters

    @property
    def macs_at(self) -> int:
        return _GENERAL_WORDS

    @property
    def rings_at(self) -> int:
        return self.macs_at + self.p.macs * _MAC_WORDS

    @property
    def members_at(self) -> int:
        return self.rings_at + self.p.rings * _RING_WORDS

    @property
    def words(self) -> int:
        return self.members_at + self.p.rings * self.p.members * _MEMBER_WORDS

    def general(self, word: Value | int) -> Value:
        return Value.cast(word)

    def mac(self, number: Value, word: Value | int) -> Value:
        return self.macs_at + (number << 2) + word

    def ring(self, number: Value, word: Value | int) -> Value:
        return self.rings_at + (number << 7) + word

    def member(self, ring: Value, number: Value, word: Value | int) -> Value:
        return self.members_at + ring * (self.p.members * _MEMBER_WORDS) + (number << 4) + word

    def decode(self, m: Module, address: Value) -> tuple[Signal, Signal, Signal, Signal, Signal]:
        """Of a bus address, as wires: is it a word of a bank, which word, is it a QPN, its ring, its member."""
        p = self.p
        known, index, is_qpn = Signal(), Signal(range(self.words)), Signal()
        ring, member = Signal(range(max(p.rings, 2))), Signal(range(p.members))
        with m.If((address >= _GENERAL_AT) & (address < _GENERAL_AT + _GENERAL_WORDS * WORD)):
            m.d.comb += [known.eq(1), index.eq((address - _GENERAL_AT)[2:])]
        mac = address - _MAC_AT
        with m.If((address >= _MAC_AT) & (address < _MAC_AT + p.macs * _MAC_WORDS * WORD) & (mac[2:4] != 3)):
            m.d.comb += [known.eq(1), index.eq(self.macs_at + mac[2:20])]
        ring_bits = table_stride("ring").bit_length() - 1
        at = Signal(20)
        m.d.comb += at.eq(address - _RING_AT)
        inside, word = at[0:ring_bits], Signal(ring_bits)
        m.d.comb += [ring.eq(at[ring_bits:]), word.eq(inside[2:])]
        number = Signal(ring_bits)
        m.d.comb += [number.eq((inside - (_MEMBER_AT - _RING_AT)) >> 6), member.eq(number)]
        fields = Const(sum(1 << at for at in _ring_words()), 128)
        with m.If((address >= _RING_AT) & (at < p.rings * table_stride("ring"))):
            with m.If((word < 128) & fields.bit_select(word[0:7], 1)):
                m.d.comb += [known.eq(1), index.eq(self.ring(ring, word[0:7]))]
            with m.If((inside >= _MEMBER_AT - _RING_AT) & (number < p.members)):
                with m.If(word[0:4] < (_QPN_AT - _MEMBER_AT) // WORD):
                    m.d.comb += [known.eq(1), index.eq(self.member(ring, member, word[0:4]))]
                m.d.comb += is_qpn.eq(word[0:4] == (_QPN_AT - _MEMBER_AT) // WORD)
        return known, index, is_qpn, ring, member

    def address(self, section: Value, first: Value, second: Value, word: Value) -> Value:
        """The bus address of a word: section 0 general, 1 MAC `first`, 2 ring `first`, 3 member `second` of it."""
        bases = (
            Const(_GENERAL_AT, 20), _MAC_AT + (first << 4), _RING_AT + (first << 14),
            _MEMBER_AT + (first << 14) + (second << 6),
        )  # fmt: skip
        return (Array(bases)[section] + (word << 2))[0:20]


def _ring_words() -> list[int]:
    words: list[int] = []
    for register in RING_FIELDS:
        begin = (register.address - _RING_AT) // WORD
        words += range(begin, begin + register.count)
    return words
