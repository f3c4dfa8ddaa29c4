"""RoCE v2 on the wire: layouts, codec, iCRC, PSN arithmetic."""

from workloads.wire.envelope import ROCE_PORT, Envelope
from workloads.wire.headers import Aeth, AtomicAckEth, AtomicEth, Bth, Deth, Ieth, ImmDt, Reth, Sack
from workloads.wire.icrc import ICRC_BYTES, icrc_of, icrc_state
from workloads.wire.layout import Field, Layout, WireError
from workloads.wire.opcodes import OPCODES, Opcode, OpcodeInfo, opcode_name
from workloads.wire.packet import Packet, continues, decode_packet, encode_packet, icrc_is_valid, replace_payload
from workloads.wire.psn import PSN_MASK, PSN_MODULUS, psn_add, psn_diff
from workloads.wire.syndrome import ACK_UNLIMITED, RNR_TIMER_NS, Nak, is_ack, is_nak, is_rnr, rnr_syndrome, rnr_timer_ns

__all__ = [
    "ACK_UNLIMITED", "ICRC_BYTES", "OPCODES", "PSN_MASK", "PSN_MODULUS", "RNR_TIMER_NS", "ROCE_PORT", "Aeth",
    "AtomicAckEth", "AtomicEth", "Bth", "Deth", "Envelope", "Field", "Ieth", "ImmDt", "Layout", "Nak", "Opcode",
    "OpcodeInfo", "Packet", "Reth", "Sack", "WireError", "continues", "decode_packet", "encode_packet",
    "icrc_is_valid", "icrc_of", "icrc_state", "is_ack",
    "is_nak", "is_rnr", "opcode_name", "psn_add", "psn_diff", "replace_payload", "rnr_syndrome", "rnr_timer_ns",
]  # fmt: skip
