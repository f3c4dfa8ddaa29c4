"""Frames of one link that arrive behind later ones, with the receive queue of one processor and without.

`python -P -m benchmarks.bench_link_order` as root: a sender that moves from processor to processor gives numbered
frames to a shaped veth interface, and the other end counts those that were overtaken. In turns the other end leaves it
to the sender's processor who handles a frame, as the kernel does by itself, and has one processor for all
(`testbed.kernel.receive_queues`).
"""

from __future__ import annotations

import argparse
import os
import socket
import statistics
import struct
import sys

from benchmarks.emulated_times import busy_processes
from testbed.kernel.receive_queues import processor_for, receive_all_on
from tests.support.namespace import own_namespace

_PROTOCOL = 0x88B5
"""for experiments (IEEE 802)"""
_HEAD = b"\xff" * 6 + b"\x02" * 6 + struct.pack("!H", _PROTOCOL)
_NUMBER = struct.Struct("!I")
_RATE_BPS, _FRAME_BYTES = 400_000_000, 320
_MOVES_EVERY = 3
"""frames"""
_RECEIVE_BYTES, _SEND_BYTES = 1 << 27, 1 << 24
_SO_SNDBUFFORCE, _SO_RCVBUFFORCE = 32, 33
_SILENCE_S = 2.0


def overtaken(frames: int, *, by_one: bool) -> tuple[int, int]:
    """(frames that arrived, those of them that a later one had overtaken)"""
    with own_namespace() as namespace:
        if by_one and not receive_all_on(processor_for(0)):
            raise SystemExit("this kernel has no net.core.rps_default_mask (Linux 6.3)")
        namespace.veth("o0", "o1")
        namespace.shape("o0", _RATE_BPS)
        with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_PROTOCOL)) as receiver:
            receiver.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, _RECEIVE_BYTES)
            receiver.bind(("o1", _PROTOCOL))
            receiver.settimeout(_SILENCE_S)
            sender = os.fork()
            if sender == 0:
                _send(frames)
                os._exit(0)
            counts = _count(receiver, frames)
            os.waitpid(sender, 0)
            return counts


def _send(frames: int) -> None:
    processors = sorted(os.sched_getaffinity(0))
    rest = bytes(_FRAME_BYTES - len(_HEAD) - _NUMBER.size)
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0) as sock:
        sock.setsockopt(socket.SOL_SOCKET, _SO_SNDBUFFORCE, _SEND_BYTES)
        sock.bind(("o0", 0))
        for number in range(frames):
            if number % _MOVES_EVERY == 0:
                os.sched_setaffinity(0, {processors[number // _MOVES_EVERY % len(processors)]})
            sock.send(_HEAD + _NUMBER.pack(number) + rest)


def _count(receiver: socket.socket, frames: int) -> tuple[int, int]:
    newest, came, late = -1, 0, 0
    try:
        while came < frames:
            (number,) = _NUMBER.unpack_from(receiver.recv(_FRAME_BYTES), len(_HEAD))
            came, late, newest = came + 1, late + (number < newest), max(newest, number)
    except TimeoutError:
        pass
    return came, late


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--frames", type=int, default=200_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--busy", type=int, default=0, help="processes that are busy beside it")
    options = parser.parse_args()
    found: dict[bool, list[tuple[int, int]]] = {False: [], True: []}
    with busy_processes(options.busy):
        for _ in range(options.repeats):
            for by_one in found:
                found[by_one].append(overtaken(options.frames, by_one=by_one))
    for by_one, counts in found.items():
        late = [late for _, late in counts]
        print(
            f"{'one processor' if by_one else 'whichever is at hand':22} {sum(came for came, _ in counts):>9,} frames, "
            f"overtaken: {sum(late)} (median {statistics.median(late):g}, most {max(late)})"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
