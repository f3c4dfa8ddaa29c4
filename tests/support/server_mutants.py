"""Parameter servers that are broken on purpose, each with the case that must catch it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

from workloads.server.block import Block
from workloads.server.job import JobServer
from workloads.server.tables import BlockEvent, BlockState
from workloads.wire import Envelope
from workloads.wire.aggregation import AGGREGATION_PORT, decode_datagram, encode_datagram

__all__ = ["MUTANTS", "Mutant"]


class Mutant(NamedTuple):
    make: Callable[..., JobServer]
    caught_by: str


class PartialTwice(JobServer):
    """A part that is inside already is added again."""

    def _classify(self, block, number, a):  # type: ignore[no-untyped-def]
        event = super()._classify(block, number, a)
        return BlockEvent.NEW if event is BlockEvent.OVERLAP else event


class OverlapCompletes(JobServer):
    """A sum with some new workers is added although others are inside already."""

    def _classify(self, block, number, a):  # type: ignore[no-untyped-def]
        event = super()._classify(block, number, a)
        overlaps = event in (BlockEvent.OVERLAP, BlockEvent.WIDER, BlockEvent.WIDER_COMPLETING)
        return BlockEvent.NEW if overlaps and a.bitmap & ~block.bitmap else event


class WiderIsAdded(JobServer):
    """A packet is added to those that are inside it."""

    def swap(self, block, a, now):  # type: ignore[no-untyped-def]
        self.add(block, a, now)


class WiderIsDropped(JobServer):
    """Any packet is thrown away of which a worker is inside already."""

    def _classify(self, block, number, a):  # type: ignore[no-untyped-def]
        event = super()._classify(block, number, a)
        return BlockEvent.OVERLAP if event in (BlockEvent.WIDER, BlockEvent.WIDER_COMPLETING) else event


class CountsPackets(JobServer):
    """Complete after as many packets as there are workers."""

    def _classify(self, block, number, a):  # type: ignore[no-untyped-def]
        event = super()._classify(block, number, a)
        if event in (BlockEvent.NEW, BlockEvent.OVERLAP, BlockEvent.COMPLETING):
            packets = self.__dict__.setdefault("packets", {})
            packets[number] = packets.get(number, 0) + 1
            if packets[number] == len(self._job.members):
                return BlockEvent.COMPLETING
        return event


class WholeIsAdded(JobServer):
    """A packet of all workers is added to what is there, not put in its place."""

    def replace_and_send(self, block, a, now):  # type: ignore[no-untyped-def]
        if not block.bitmap:
            super().replace_and_send(block, a, now)
        else:
            self.add_and_send(block, a, now)


class NackIgnored(JobServer):
    """Workers are never asked."""

    def _ask_missing(self, block):  # type: ignore[no-untyped-def]
        pass


class NoReminder(JobServer):
    """Nothing is ever asked for."""

    def _arm(self, block, deadline):  # type: ignore[no-untyped-def]
        pass


class NotLeftBehind(JobServer):
    """Only time lets it ask."""

    def _seal(self, block, now):  # type: ignore[no-untyped-def]
        for other in self._open.values():
            other.later = 100
        super()._seal(block, now)


class DoneIsForgotten(JobServer):
    """No result is kept: whoever asks again opens the block again."""

    def _send_to_all(self, block):  # type: ignore[no-untyped-def]
        sent = super()._send_to_all(block)
        self._blocks[block.number % len(self._blocks)] = None
        return sent


class ReplaysToAll(JobServer):
    """A repair goes to everybody."""

    def replay(self, block, a, now):  # type: ignore[no-untyped-def]
        bitmap, a.bitmap = a.bitmap, self._everybody
        super().replay(block, a, now)
        a.bitmap = bitmap


class GoneIsSilent(JobServer):
    def _refuse(self, block, bitmap):  # type: ignore[no-untyped-def]
        pass


class ForgetsTheMove(JobServer):
    """The new index is told with the first result only."""

    def _send_to_all(self, block):  # type: ignore[no-untyped-def]
        sent = super()._send_to_all(block)
        found = decode_datagram(block.frame)
        envelope = Envelope(found.src_mac, block.frame[:6], found.src_ip, found.dst_ip, found.sport, block.frame[15])
        header = found.header._replace(flags=0, new_slot=block.slot)
        block.frame = encode_datagram(envelope, AGGREGATION_PORT, header, found.payload)
        return sent


class StaysInItsSlot(JobServer):
    def _seal(self, block, now):  # type: ignore[no-untyped-def]
        block.collided = False
        super()._seal(block, now)


class LastExponent(JobServer):
    def add(self, block, a, now):  # type: ignore[no-untyped-def]
        super().add(block, a, now)
        block.exponent0, block.exponent1 = a.exponent0, a.exponent1

    def add_and_send(self, block, a, now):  # type: ignore[no-untyped-def]
        block.exponent0 = block.exponent1 = -128
        super().add_and_send(block, a, now)


class CopiesAreSent(JobServer):
    """What a switch sent itself is sent once more."""

    def keep(self, block, a, now):  # type: ignore[no-untyped-def]
        super().keep(block, a, now)
        self._send_to_all(block)


class NeverOverrun(JobServer):
    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self._strict = False


class OverflowForgotten(JobServer):
    def _seal(self, block, now):  # type: ignore[no-untyped-def]
        block.overflow = False
        super()._seal(block, now)


class OverflowOfParts(JobServer):
    """Parts that left int32 are held against the whole sum that takes their place."""

    def replace_and_send(self, block, a, now):  # type: ignore[no-untyped-def]
        before = block.overflow
        self._hold(block, a.slot)
        block.replace(a)
        block.overflow |= before
        self._complete(block, now)


class MarksForgotten(JobServer):
    def _seal(self, block, now):  # type: ignore[no-untyped-def]
        block.marked = False
        super()._seal(block, now)


class OneBlockForAll(JobServer):
    """Blocks of one index of the cache are one block."""

    def _find(self, number):  # type: ignore[no-untyped-def]
        return self._blocks[0] or Block(number, len(self._job.members), saturating=False)

    def _hold(self, block, slot):  # type: ignore[no-untyped-def]
        self._blocks[0] = block
        if block.state is BlockState.OPEN:
            self._open[block.number] = block


def small_cache(job, *args: Any, **more: Any) -> JobServer:  # type: ignore[no-untyped-def]
    """One window of results."""
    return JobServer(replace(job, cached_windows=1), *args, **more)


MUTANTS: dict[str, Mutant] = {
    "partial merged twice": Mutant(PartialTwice, "a_repeated_part_counts_once"),
    "overlapping partial added": Mutant(OverlapCompletes, "an_overlapping_sum_is_thrown_away_as_a_whole"),
    "wider packet added": Mutant(WiderIsAdded, "a_wider_packet_replaces_those_inside_it"),
    "wider packet thrown away": Mutant(WiderIsDropped, "a_wider_packet_replaces_those_inside_it"),
    "fan-in compared with the packet count": Mutant(CountsPackets, "a_repeated_part_counts_once"),
    "whole sum added": Mutant(WholeIsAdded, "a_packet_of_all_is_the_sum"),
    "workers never asked": Mutant(NackIgnored, "an_open_block_is_asked_for"),
    "no reminder": Mutant(NoReminder, "an_open_block_is_asked_for"),
    "overtaken block not asked for": Mutant(NotLeftBehind, "a_block_that_three_others_overtake_is_asked_for_at_once"),
    "results not kept": Mutant(DoneIsForgotten, "who_asks_again_gets_the_result_alone"),
    "result cache too small": Mutant(small_cache, "results_stay_for_two_windows"),
    "repairs to everybody": Mutant(ReplaysToAll, "who_asks_again_gets_the_result_alone"),
    "losses not told": Mutant(GoneIsSilent, "what_is_gone_is_said_to_be_gone"),
    "new index told once": Mutant(ForgetsTheMove, "a_collision_moves_the_entry"),
    "no new index": Mutant(StaysInItsSlot, "a_collision_moves_the_entry"),
    "last exponent instead of the largest": Mutant(LastExponent, "exponents_are_the_largest"),
    "copies sent once more": Mutant(CopiesAreSent, "copies_of_results_are_kept_and_not_sent"),
    "nobody overruns": Mutant(NeverOverrun, "who_goes_ahead_of_results_is_named"),
    "overflow forgotten": Mutant(OverflowForgotten, "saturated_sums_say_so"),
    "overflow of parts": Mutant(OverflowOfParts, "parts_that_saturated_do_not_spoil_the_whole"),
    "marks forgotten": Mutant(MarksForgotten, "marks_go_back_to_the_workers"),
    "blocks mixed": Mutant(OneBlockForAll, "blocks_do_not_mix"),
}
