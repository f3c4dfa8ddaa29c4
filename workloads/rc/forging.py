"""What a forger makes of a packet: frames that no host of a rack sends, each with a right iCRC.

A forged frame comes in addition to the packet that it was made from, which goes on unharmed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from workloads.collectives.ina_header import INA_HEADER_BYTES, InaHeader
from workloads.machine import Buffer
from workloads.wire import (
    ICRC_BYTES,
    Aeth,
    Nak,
    Opcode,
    Packet,
    Reth,
    WireError,
    decode_packet,
    encode_packet,
    icrc_is_valid,
    icrc_of,
    is_ack,
    psn_add,
)
from workloads.wire.envelope import ETHERNET, encode_envelope
from workloads.wire.places import ETHERTYPE

__all__ = ["FORGERIES", "Forgery", "forge"]

_STRANGER = {4: bytes([10, 255, 255, 254]), 16: bytes([0xFD]) + bytes(14) + b"\xfe"}
_STRAY_QPN = 0x80_0000
"""bit set in the QPN of an unused connection: QPNs of a plan are below 2^16"""
_FAR = 1 << 20
"""PSNs"""
_NEXT = {
    Opcode.SEND_FIRST: Opcode.SEND_MIDDLE, Opcode.SEND_MIDDLE: Opcode.SEND_LAST, Opcode.SEND_ONLY_IMM: Opcode.SEND_LAST,
    Opcode.WRITE_FIRST: Opcode.WRITE_MIDDLE, Opcode.WRITE_MIDDLE: Opcode.WRITE_LAST,
    Opcode.WRITE_ONLY_IMM: Opcode.WRITE_LAST,
}  # fmt: skip
_ANEW = {
    Opcode.SEND_MIDDLE: Opcode.SEND_FIRST, Opcode.SEND_LAST_IMM: Opcode.SEND_ONLY,
    Opcode.WRITE_MIDDLE: Opcode.WRITE_FIRST, Opcode.WRITE_LAST_IMM: Opcode.WRITE_ONLY,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Forgery:
    meaning: str
    make: Callable[[Packet], Packet | bytes | None]
    """None: nothing can be made of that packet"""


def forge(what: str, frame: Buffer) -> bytes | None:
    """The forged frame. None when nothing of that kind can be made of this one, or its iCRC is wrong. A forgery of a
    damaged packet would make the damage look genuine. Raises KeyError for an unknown kind."""
    make = FORGERIES[what].make
    try:
        packet = decode_packet(frame)
        if packet is None or not icrc_is_valid(frame):
            return None
        made = make(packet)
        return encode_packet(made) if isinstance(made, Packet) else made
    except WireError:
        return None


def _data(packet: Packet) -> bool:
    return packet.info.is_request and packet.bth.opcode < Opcode.UC_SEND_FIRST


def _header(packet: Packet) -> InaHeader | None:
    return InaHeader.decode(packet.payload) if _data(packet) and packet.starts else None


def _with_header(packet: Packet, header: InaHeader) -> Packet:
    return replace(packet, payload=header.encode() + bytes(packet.payload[INA_HEADER_BYTES:]))


def _with_bth(packet: Packet, **fields: int) -> Packet:
    return replace(packet, bth=replace(packet.bth, **fields))


def _not_roce(packet: Packet) -> bytes:
    frame = bytearray(encode_packet(packet))
    frame[ETHERTYPE] = b"\x88\xb5"  # local experimental EtherType (IEEE 802)
    return bytes(frame)


def _foreign(packet: Packet) -> Packet | None:
    if not _data(packet):
        return None
    source = _STRANGER[len(packet.envelope.src_ip)]
    return replace(packet, envelope=replace(packet.envelope, src_ip=source))


def _reflected(packet: Packet) -> Packet | None:
    there = packet.envelope
    return replace(packet, envelope=replace(there, src_ip=there.dst_ip, dst_ip=there.src_ip)) if _data(packet) else None


def _truncated(packet: Packet) -> bytes | None:
    """BTH, then the iCRC, though the BTH announces pad."""
    if not _data(packet):
        return None
    bth = replace(packet.bth, pad=3).encode()
    body = encode_envelope(packet.envelope, len(bth) + ICRC_BYTES) + bth
    return body + icrc_of(memoryview(body)[ETHERNET.size :])


def _padded(packet: Packet) -> Packet | None:
    """The last byte is called pad."""
    return (
        replace(packet, payload=bytes(packet.payload[:-1]))
        if _data(packet) and len(packet.payload) > INA_HEADER_BYTES
        else None
    )


def _shortened(packet: Packet) -> Packet | None:
    return (
        replace(packet, payload=bytes(packet.payload[:-4]))
        if _data(packet) and len(packet.payload) > INA_HEADER_BYTES + 4
        else None
    )


def _changed(packet: Packet) -> Packet | None:
    if not _data(packet) or len(packet.payload) <= INA_HEADER_BYTES:
        return None
    payload = bytearray(packet.payload)
    payload[-1] ^= 1
    return replace(packet, payload=bytes(payload))


def _stray(packet: Packet) -> Packet | None:
    return _with_bth(packet, dest_qpn=packet.bth.dest_qpn | _STRAY_QPN) if _data(packet) else None


def _stray_plain(packet: Packet) -> Packet | None:
    found = _stray(packet)
    return None if found is None else _without_header(found)


def _without_header(packet: Packet) -> Packet:
    if packet.starts and len(packet.payload):
        return replace(packet, payload=b"\0" + bytes(packet.payload[1:]))
    return packet


def _stray_bad(packet: Packet) -> Packet | None:
    header = _header(packet)
    return None if header is None else _stray(_with_header(packet, replace(header, msg_len_pkts=0)))


def _overrun(packet: Packet) -> Packet | None:
    header = _header(packet)
    return None if header is None else _stray(_with_header(packet, replace(header, msg_id=header.msg_id + (1 << 20))))


def _bad_length(packet: Packet) -> Packet | None:
    header = _header(packet)
    return None if header is None else _with_header(packet, replace(header, msg_len_pkts=0))


def _old_plain(packet: Packet) -> Packet | None:
    """Far behind: to its receiver a duplicate."""
    if not _data(packet) or not packet.starts:
        return None
    return _with_bth(_without_header(packet), psn=psn_add(packet.bth.psn, -_FAR))


def _old_data(packet: Packet) -> Packet | None:
    """Not the begin of a message: in front of the first one it would be the first."""
    if not _data(packet) or packet.starts:
        return None
    return _with_bth(packet, psn=psn_add(packet.bth.psn, -_FAR // 2))


def _misplaced(packet: Packet) -> Packet | None:
    opcode = _NEXT.get(Opcode(packet.bth.opcode))
    return None if opcode is None else replace(_with_bth(packet, opcode=opcode), reth=None, imm=None)


def _restarted(packet: Packet) -> Packet | None:
    opcode = _ANEW.get(Opcode(packet.bth.opcode))
    if opcode is None:
        return None
    reth = Reth(0, 0, len(packet.payload)) if opcode in (Opcode.WRITE_FIRST, Opcode.WRITE_ONLY) else None
    return replace(_with_bth(packet, opcode=opcode), reth=reth, imm=None)


def _denied(packet: Packet) -> Packet | None:
    return None if packet.reth is None else replace(packet, reth=replace(packet.reth, rkey=packet.reth.rkey ^ 1))


def _unserved(packet: Packet) -> Packet | None:
    """An RDMA READ request."""
    if not _data(packet):
        return None
    return Packet(packet.envelope, replace(packet.bth, opcode=Opcode.READ_REQUEST), reth=Reth(0, 0, 4))


def _ack_unsent(packet: Packet) -> Packet | None:
    return None if packet.aeth is None else _with_bth(packet, psn=psn_add(packet.bth.psn, _FAR))


def _ack_stale(packet: Packet) -> Packet | None:
    return None if packet.aeth is None else _with_bth(packet, psn=psn_add(packet.bth.psn, -_FAR))


def _answer(syndrome: int) -> Callable[[Packet], Packet | None]:
    def make(packet: Packet) -> Packet | None:
        """About the packet that the ACK acknowledges."""
        if packet.aeth is None or not is_ack(packet.aeth.syndrome):
            return None
        return replace(packet, aeth=Aeth(syndrome, packet.aeth.msn))

    return make


FORGERIES: Mapping[str, Forgery] = {
    "not_roce": Forgery("another EtherType", _not_roce),
    "foreign": Forgery("data from an address that is in no ring", _foreign),
    "reflected": Forgery("source and destination address exchanged", _reflected),
    "truncated": Forgery("headers cut off, and lengths that contradict each other", _truncated),
    "padded": Forgery("the last byte is called pad", _padded),
    "bad_length": Forgery("an INA header with a length of 0 packets", _bad_length),
    "changed": Forgery("the last bit of the payload flipped", _changed),
    "stray": Forgery("the same packet on a connection that no host has", _stray),
    "stray_plain": Forgery("on a connection that no host has, without INA header", _stray_plain),
    "stray_bad": Forgery("on a connection that no host has, with a length of 0 packets in the INA header", _stray_bad),
    "overrun": Forgery("on a connection that no host has, a message far in the future", _overrun),
    "old_plain": Forgery("a first packet without INA header, far behind the connection's PSNs", _old_plain),
    "old_data": Forgery("a packet inside a message, half as far behind", _old_data),
    "misplaced": Forgery("the opcode of the next place in a message", _misplaced),
    "restarted": Forgery("a new message in the middle of one", _restarted),
    "shortened": Forgery("the last four bytes cut off", _shortened),
    "unserved": Forgery("an RDMA READ request instead", _unserved),
    "denied": Forgery("another memory key", _denied),
    "ack_unsent": Forgery("an answer about a PSN that was never sent", _ack_unsent),
    "ack_stale": Forgery("an answer about a PSN of long ago", _ack_stale),
    "nak_again": Forgery("a sequence NAK instead of an ACK", _answer(int(Nak.PSN_SEQUENCE))),
    "rnr_again": Forgery("an RNR NAK instead of an ACK", _answer(0x20 | 1)),
    "nak_fatal": Forgery("a remote access error instead of an ACK", _answer(int(Nak.REMOTE_ACCESS))),
}
"""forgeries by the word in `faults[].what`"""
