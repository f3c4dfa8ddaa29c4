"""How long a flow takes when it is alone in the network, worked out exactly.

Frames are stored and forwarded whole, and leave the sender back to back. Frame i leaves link j when both frame i has
left link j - 1 and frame i - 1 has left link j. So the last frame leaves the last link at the largest sum of
transmission times along a way from (first frame, first link) to (last frame, last link) that goes on by one frame or
one link at a time. All frames but the first and the last have one size, so few such ways need to be compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate

from topologies import LinkShape
from workloads.rc.transport import RELIABLE
from workloads.wire.packet import EMPTY_FRAME_BYTES

__all__ = ["DATA_HEADERS", "FLOW_HEADERS", "alone_ns", "frames_of"]

DATA_HEADERS = EMPTY_FRAME_BYTES
"""of each data packet: Ethernet, IPv4, UDP, BTH, iCRC"""
_RETH, _IMM = (RELIABLE.part_bytes[name] for name in ("RETH", "ImmDt"))
FLOW_HEADERS = _RETH + _IMM
"""of a flow in addition, with go-back-N: RETH of the first packet, immediate of the last one"""
_BITS_NS = 8 * 1_000_000_000


def frames_of(size: int, mtu: int, *, speaks_irn: bool) -> tuple[int, int, int, int]:
    """(number of frames; bytes of the first one, of those between, of the last one). With IRN every packet has a
    RETH."""
    count = max(1, -(-size // mtu))
    last = size - (count - 1) * mtu
    last += -last % 4
    if count == 1:
        whole = DATA_HEADERS + FLOW_HEADERS + last
        return 1, whole, whole, whole
    each = _RETH if speaks_irn else 0
    return count, DATA_HEADERS + _RETH + mtu, DATA_HEADERS + each + mtu, DATA_HEADERS + each + _IMM + last


def alone_ns(size: int, mtu: int, links: Sequence[LinkShape], *, speaks_irn: bool) -> Fraction:
    """From the start of a flow of `size` bytes until its last bit arrives, over `links` in their order, in ns. A run
    counts whole ns, and so differs by less than one for each link."""
    count, first, middle, last = frames_of(size, mtu, speaks_irn=speaks_irn)
    per_byte = [Fraction(_BITS_NS, link.rate_bps) for link in links]
    delay = sum(link.delay_ns for link in links)
    upto = [Fraction(0), *accumulate(per_byte)]
    """time of a byte on the first links, by their number"""
    if count == 1:
        return first * upto[-1] + delay
    most = Fraction(0)
    for enters in range(len(links)):
        for leaves in range(enters, len(links)):
            # The first frame goes over links 0 .. enters, those between over enters .. leaves, the last one over the
            # rest. Where there are none between, the last one follows the first.
            between = Fraction(0)
            if count > 2:
                part = per_byte[enters : leaves + 1]
                between = middle * (sum(part) + (count - 3) * max(part))
            elif enters != leaves:
                continue
            most = max(most, first * upto[enters + 1] + between + last * (upto[-1] - upto[leaves]))
    return most + delay
