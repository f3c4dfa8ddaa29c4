"""Mutated traces: drawn from the seed alone, and of every kind."""

from __future__ import annotations

from switch_nodes.fpga.dissect import dissect
from switch_nodes.fpga.golden import TimedFrame
from testbed.lab.cards.mutation import mutated
from workloads.wire import Bth, Envelope, Packet, encode_packet, icrc_is_valid


def _packet(psn: int) -> bytes:
    envelope = Envelope(b"\2\0\0\0\0\1", b"\2\0\0\0\0\2", b"\x0a\0\0\1", b"\x0a\0\0\2", tos=2)
    return encode_packet(Packet(envelope, Bth(1, 17, psn), bytes(64)))


INPUTS = [TimedFrame(psn % 4, 10 * psn, _packet(psn)) for psn in range(400)]


def test_a_seed_gives_one_trace():
    assert mutated(INPUTS, 4, 7) == mutated(INPUTS, 4, 7)
    assert mutated(INPUTS, 4, 7) != mutated(INPUTS, 4, 8)


def test_times_never_go_back_and_ports_are_those_of_the_switch():
    for seed in range(20):
        found = mutated(INPUTS, 4, seed)
        times = [item.time_ns for item in found]
        assert times == sorted(times)
        assert {item.port for item in found} <= set(range(4))


def test_some_frames_are_lost_some_damaged_and_some_new():
    ours = {item.frame for item in INPUTS}
    lost = damaged = new = 0
    for seed in range(10):
        found = [item.frame for item in mutated(INPUTS, 4, seed)]
        lost += len(ours - set(found))
        for frame in set(found) - ours:
            dissect(frame)  # never raises
            try:
                good = icrc_is_valid(frame)
            except ValueError:
                good = False
            new += good
            damaged += not good
    assert min(lost, damaged, new) > 50


def test_a_host_that_connects_again_has_another_qpn():
    found = [mutated(INPUTS, 4, seed, share=0) for seed in range(20)]
    again = [trace for trace in found if trace != INPUTS]
    assert again
    assert all(len(trace) > len(INPUTS) or trace[0] != INPUTS[0] for trace in again), (
        "it sends its newest packets again"
    )
