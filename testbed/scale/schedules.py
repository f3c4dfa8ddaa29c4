"""All-reduce algorithms as messages that wait for one another. Every rank holds `size_bytes`; rank numbers from 0."""

from __future__ import annotations

from testbed.scale.messages import Message
from workloads.collectives.schedules import ring_schedule
from workloads.config import CollectiveConfig
from workloads.costs.checks import check_ranks, log2_exact

__all__ = ["binomial_tree", "halving_doubling", "ring", "ring_window"]

_RING_WINDOW_PACKETS = 512
"""as workloads.collectives.ring: what is in flight on one connection"""


def ring(ranks: int, size_bytes: int, message_packets: int, path_mtu: int) -> list[Message]:
    """The very schedule of workloads.collectives.ring: chunks in pieces, a piece goes on when it came."""
    check_ranks(ranks)
    config = CollectiveConfig("ring", 1, 0, ranks, message_packets=message_packets)
    plans = [ring_schedule(config, rank, size_bytes // 4, path_mtu) for rank in range(ranks)]
    bases = [sum(len(plan) for plan in plans[:rank]) for rank in range(ranks)]
    places = [{(item.step, item.start): index for index, item in enumerate(plan)} for plan in plans]
    messages = []
    for rank, plan in enumerate(plans):
        before = (rank - 1) % ranks
        for item in plan:
            needs = () if item.step == 0 else (bases[before] + places[before][item.step - 1, item.start],)
            messages.append(Message(rank, (rank + 1) % ranks, item.stop - item.start, needs))
    return messages


def ring_window(ranks: int, size_bytes: int, message_packets: int, path_mtu: int, window_messages: int) -> int:
    """Messages that a rank of the ring leaves unacknowledged at most."""
    config = CollectiveConfig("ring", 1, 0, ranks, message_packets=message_packets)
    longest = max((item.packets for item in ring_schedule(config, 0, size_bytes // 4, path_mtu)), default=1)
    return max(2, window_messages, _RING_WINDOW_PACKETS // longest)


def halving_doubling(ranks: int, size_bytes: int) -> list[Message]:
    """Recursive halving (reduce-scatter), then doubling (all-gather): each step with another partner. Raises
    ScenarioError when `ranks` is no power of two."""
    check_ranks(ranks)
    steps = log2_exact(ranks, "halving_doubling")
    messages: list[Message] = []
    owned = [(0, size_bytes)] * ranks
    last: list[tuple[int, ...]] = [()] * ranks

    def exchange(distance: int, spans: list[tuple[int, int]]) -> None:
        base = len(messages)
        for rank, (start, stop) in enumerate(spans):
            messages.append(Message(rank, rank ^ distance, stop - start, last[rank]))
        for rank in range(ranks):
            last[rank] = (base + (rank ^ distance),)

    for step in range(steps):
        distance = ranks >> (step + 1)
        given, kept = [], []
        for rank, (start, stop) in enumerate(owned):
            middle = (start + stop) // 2
            low, high = (start, middle), (middle, stop)
            given.append(low if rank & distance else high)
            kept.append(high if rank & distance else low)
        exchange(distance, given)
        owned = kept
    for step in reversed(range(steps)):
        distance = ranks >> (step + 1)
        exchange(distance, owned)
        owned = [
            (min(own[0], owned[rank ^ distance][0]), max(own[1], owned[rank ^ distance][1]))
            for rank, own in enumerate(owned)
        ]
    return messages


def binomial_tree(ranks: int, size_bytes: int) -> list[Message]:
    """Reduce to rank 0, then broadcast from it; a rank sends the whole vector, when it has all that it waits for."""
    check_ranks(ranks)
    rounds = (ranks - 1).bit_length()
    messages: list[Message] = []
    came: list[tuple[int, ...]] = [()] * ranks
    for step in range(rounds):
        distance = 1 << step
        for rank in range(distance, ranks, 2 * distance):
            came[rank - distance] += (len(messages),)
            messages.append(Message(rank, rank - distance, size_bytes, came[rank]))
    for step in reversed(range(rounds)):
        distance = 1 << step
        for rank in range(0, ranks - distance, 2 * distance):
            messages.append(Message(rank, rank + distance, size_bytes, came[rank]))
            came[rank + distance] = (len(messages) - 1,)
    return messages
