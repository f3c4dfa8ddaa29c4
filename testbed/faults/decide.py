"""The one dice of all faults: a counter-based integer hash over who the packet is, not over when it came.

    stream   = (seed, fault, link, direction)        one number per fault and link direction
    flow     = (source IP, destination IP, QPN)      or the CRC of a frame that is not RoCE
    identity = (flow, opcode, PSN, syndrome)         what occurrences are counted by
    draw     = (stream, identity, occurrence, copy, purpose) -> 64 bits

`decide.h` is the same in C for user space and for eBPF; a test holds them equal. Every word goes through `absorb`: the
finaliser is Stafford's "variant 13" (D. Stafford, "Better Bit Mixing", 2011), and the increment is 2^64 / golden ratio.
Both are as in SplitMix64 (Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014). The way
words are chained is ours. No floating point takes part: a rate becomes a 53-bit threshold before the run.
"""

from __future__ import annotations

import hashlib
from enum import IntEnum
from functools import lru_cache
from typing import TYPE_CHECKING

from topologies import Direction

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "CHANCE_BITS",
    "LOOK_BACK",
    "Purpose",
    "absorb",
    "absorb_many",
    "below",
    "burst_is_bad",
    "draw",
    "draw_many",
    "finalise",
    "flow_key",
    "frame_key",
    "identity_key",
    "name_id",
    "packet_word",
    "stream_key",
    "threshold",
]

_WORD = MASK64 = (1 << 64) - 1
_GAMMA = 0x9E3779B97F4A7C15
_MULTIPLY_1 = 0xBF58476D1CE4E5B9
_MULTIPLY_2 = 0x94D049BB133111EB

CHANCE_BITS = 53
"""A double in 0..1 has at most 53 significant bits, so a threshold of that width holds every rate from 2^-53 on."""
LOOK_BACK = 1024
"""PSNs that a burst chain is followed back at most; a chain that stays undecided for that long restarts there."""

_PSN_MASK = (1 << 24) - 1
_IPV4, _IPV6, _NOT_ROCE = 4, 6, 0
"""first word of a flow key, so that the three kinds never meet"""


class Purpose(IntEnum):
    """What a draw is for: one packet and one fault may need several independent numbers."""

    STRIKE = 0
    BIT = 1
    JITTER = 2
    BURST_STEP = 3
    BURST_LOSS = 4
    BURST_START = 5


def finalise(value: int) -> int:
    """Mix 64 bits so that each input bit moves each output bit with probability near 1/2."""
    value = (value ^ value >> 30) * _MULTIPLY_1 & _WORD
    value = (value ^ value >> 27) * _MULTIPLY_2 & _WORD
    return value ^ value >> 31


def absorb(state: int, word: int) -> int:
    """The state after one more 64-bit word; for a fixed state a bijection of the word."""
    return finalise((state ^ word) + _GAMMA & _WORD)


@lru_cache(1024)
def name_id(name: str) -> int:
    """64 bits for a name (BLAKE2b, little-endian)."""
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "little")


@lru_cache(1024)
def stream_key(seed: int, fault: str, link: str, direction: Direction) -> int:
    """Key of one fault on one direction of one link."""
    state = absorb(0, seed & MASK64)
    state = absorb(state, name_id(fault))
    state = absorb(state, name_id(link))
    return absorb(state, 0 if direction is Direction.UP else 1)


def flow_key(src_ip: bytes, dst_ip: bytes, qpn: int) -> int:
    """Key of (source IP, destination IP, destination QPN); addresses of 4 or 16 bytes."""
    if len(src_ip) == 4:
        state = absorb(_IPV4, int.from_bytes(src_ip + dst_ip, "big"))
    else:
        state = _IPV6
        for address in (src_ip, dst_ip):
            state = absorb(state, int.from_bytes(address[:8], "big"))
            state = absorb(state, int.from_bytes(address[8:], "big"))
    return absorb(state, qpn)


def frame_key(crc32: int, length: int) -> int:
    """Stands for the flow of a frame that is not RoCE: `crc32` (IEEE, as zlib's) of all its bytes and their number."""
    return absorb(absorb(_NOT_ROCE, crc32), length)


def packet_word(opcode: int, psn: int, syndrome: int) -> int:
    """What an identity holds in addition to the flow; `syndrome` is 0 unless the opcode is ACKNOWLEDGE."""
    return psn | opcode << 24 | syndrome << 32


def identity_key(flow: int, word: int) -> int:
    return absorb(flow, word)


def draw(stream: int, identity: int, occurrence: int, copy: int = 0, purpose: int = Purpose.STRIKE) -> int:
    """64 bits for one question about one packet. `occurrence` counts from 1; `copy` is 0 for the packet that came and
    counts the copies that duplication made of it."""
    return absorb(absorb(stream, identity), occurrence & 0xFFFFFFFF | copy << 32 | purpose << 48)


def threshold(rate: float) -> int:
    """`rate` (0..1) as an integer of CHANCE_BITS bits for `below`. Raises ValueError outside of 0..1."""
    if not 0 <= rate <= 1:
        raise ValueError(f"a rate lies in 0..1, not {rate}")
    return int(rate * (1 << CHANCE_BITS))


def below(number: int, limit: int) -> bool:
    """Whether a draw falls under a threshold: true with probability limit / 2^53."""
    return number >> (64 - CHANCE_BITS) < limit


def burst_is_bad(stream: int, flow: int, psn: int, occurrence: int, copy: int, enter: int, recover: int) -> bool:
    """State of a Gilbert-Elliott chain at `psn`, without a look at the packets before it.

    The chain runs along the PSN line of (stream, flow, occurrence, copy); `enter` and `recover` are thresholds. Step u
    of a PSN means: good becomes bad if u < enter, bad stays bad if u < 1 - recover. So u below both numbers makes bad
    whatever was before, and u from both on makes good. Only between them does the step depend on its predecessor.
    Walking back to the nearest step that does not depend gives the state exactly (coupling from the past), after 1 /
    (enter + recover) steps on average. After LOOK_BACK undecided steps the state there is drawn from the stationary
    distribution.
    """
    stay = (1 << CHANCE_BITS) - recover
    low, high = (enter, stay) if enter < stay else (stay, enter)
    flips = stay < enter
    chain = absorb(absorb(stream, flow), occurrence & 0xFFFFFFFF | copy << 32 | Purpose.BURST_STEP << 48)
    odd = False
    for back in range(LOOK_BACK):
        step = absorb(chain, (psn - back) & _PSN_MASK) >> (64 - CHANCE_BITS)
        if step < low:
            return not odd
        if step >= high:
            return odd
        odd ^= flips
    # enter / (enter + recover) of 2^53, without a division so that C and eBPF need no 128-bit one
    start = absorb(chain, (psn - LOOK_BACK) & _PSN_MASK | Purpose.BURST_START << 48) >> 32
    return (start * ((enter >> 22) + (recover >> 22)) >> 32 < enter >> 22) ^ odd


def absorb_many(states: NDArray[np.uint64] | int, words: NDArray[np.uint64] | int) -> NDArray[np.uint64]:
    """`absorb` for arrays (uint64, broadcast against each other)."""
    import numpy as np

    with np.errstate(over="ignore"):
        value = (np.asarray(states, np.uint64) ^ np.asarray(words, np.uint64)) + np.uint64(_GAMMA)
        value = (value ^ value >> np.uint64(30)) * np.uint64(_MULTIPLY_1)
        value = (value ^ value >> np.uint64(27)) * np.uint64(_MULTIPLY_2)
        mixed: NDArray[np.uint64] = value ^ value >> np.uint64(31)
    return mixed


def draw_many(
    stream: int,
    identities: NDArray[np.uint64],
    occurrences: NDArray[np.uint64],
    copy: int = 0,
    purpose: int = Purpose.STRIKE,
) -> NDArray[np.uint64]:
    """`draw` for arrays of identities and occurrences (uint64, one shape)."""
    import numpy as np

    tail = (occurrences & np.uint64(0xFFFFFFFF)) | np.uint64(copy << 32 | purpose << 48)
    return absorb_many(absorb_many(stream, identities), tail)
