"""What leaf switches and their root must do, case by case, and programs that are wrong in one way each."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from switch_nodes.config import SwitchConfig
from switch_nodes.switchml.framing import UdpService
from switch_nodes.switchml.pool import Pool
from switch_nodes.switchml.program import SwitchMlProgram
from switch_nodes.switchml.service import Contribution, PoolService
from switch_nodes.switchml.tables import PoolSlotEvent, PoolSlotState
from tests.support.switchml_bench import MakeProgram
from tests.support.switchml_mutants import pool_of
from tests.support.switchml_tiers import ROOT, Tiers
from workloads.automaton import number_of
from workloads.datagrams.blocks import BlockSummed
from workloads.wire.aggregation import DatagramFlag

__all__ = ["CASES", "MUTANTS"]

EMPTY, UNWANTED = int(DatagramFlag.EMPTY), int(DatagramFlag.UNWANTED)
SUM, STALE, NEW, OVERRUN = (
    number_of(event) for event in (PoolSlotEvent.SUM, PoolSlotEvent.STALE, PoolSlotEvent.NEW, PoolSlotEvent.OVERRUN)
)
WAITING = number_of(PoolSlotState.WAITING)
EVERYONE = (0, 1, 2, 3)
FIRST, SECOND = "leaf0", "leaf1"


def all_get_the_sum_of_all(make: MakeProgram) -> None:
    for racks in ((2, 2), (1, 3), (1, 1, 1), (3, 2, 1), (1, 31), (1,) * 32):
        net = Tiers(make, racks)
        for block in (0, net.slots, 2 * net.slots):
            assert net.send_all(block) == dict.fromkeys(range(net.size), net.total(block))
        ones = (1,) * net.size
        assert net.summed == [(ROOT, turn * net.slots, ones) for turn in range(3)]
        assert {reason for *_, reason in net.partials} == {"complete"}
        assert not any(net.open_at_end().values())


def one_packet_goes_up_and_one_comes_down(make: MakeProgram) -> None:
    net = Tiers(make, (3, 2))
    net.send_all(0)
    assert net.partials == [
        (FIRST, 0, (1, 1, 1, 0, 0), 0b00111, "complete"), (SECOND, 0, (0, 0, 0, 1, 1), 0b11000, "complete"),
    ]  # fmt: skip
    ways = {(FIRST, ROOT): 1, (SECOND, ROOT): 1, (ROOT, FIRST): 1, (ROOT, SECOND): 1}
    assert {way: count for way, count in net.passed.items() if ROOT in way} == ways


def nothing_goes_up_before_the_rack_is_complete(make: MakeProgram) -> None:
    net = Tiers(make)
    assert net.send(0, 0) == net.send(0, 0) == {}
    assert net.partials == []
    assert net.reasons == [(FIRST, "duplicate")]


def a_leaf_answers_nobody_before_the_root_did(make: MakeProgram) -> None:
    net = Tiers(make)
    assert net.send_all(0, (0, 1)) == {}
    assert net.send(0, 0) == net.send(1, 0) == {}
    assert net.replayed == []
    assert net.reasons == [(ROOT, "duplicate")] * 2
    assert net.send_all(0, (2, 3)) == dict.fromkeys(EVERYONE, net.total(0))


def a_lost_partial_sum_is_repeated(make: MakeProgram) -> None:
    net = Tiers(make)
    net.lose(FIRST, ROOT)
    assert net.send_all(0) == {}
    assert net.send(1, 0) == dict.fromkeys(EVERYONE, net.total(0))
    assert net.summed == [(ROOT, 0, (1, 1, 1, 1))]
    assert net.partials[-1] == (FIRST, 0, (1, 1, 0, 0), 0b0011, "repeated")


def the_root_answers_one_leaf_alone(make: MakeProgram) -> None:
    net = Tiers(make)
    net.lose(ROOT, SECOND)
    assert net.send_all(0) == dict.fromkeys((0, 1), net.total(0))
    assert net.send(3, 0) == dict.fromkeys((2, 3), net.total(0))
    assert net.replayed == [(ROOT, 2, 0)]
    assert net.passed[ROOT, FIRST] == 1


def a_leaf_answers_one_worker_alone(make: MakeProgram) -> None:
    net = Tiers(make)
    net.lose(FIRST, "h1")
    assert set(net.send_all(0)) == {0, 2, 3}
    assert net.send(1, 0) == {1: net.total(0)}
    assert net.replayed == [(FIRST, 1, 0)]
    assert net.passed[FIRST, ROOT] == 1


def a_second_copy_of_a_sum_is_dropped(make: MakeProgram) -> None:
    net = Tiers(make)
    net.send_all(0)
    net.flights.append(net.kept[ROOT, FIRST][0])
    assert net.settle() == {}
    assert net.reasons == [(FIRST, "duplicate")]


def a_sum_of_an_older_use_is_never_taken(make: MakeProgram) -> None:
    """Of the same slot and version, when the slot is free, and when the present sum is filling, waiting, complete."""
    net = Tiers(make)
    net.send_all(0)
    (late,) = net.kept[ROOT, FIRST]
    for block in (net.slots, 2 * net.slots):
        for rank in EVERYONE:
            if rank == 3:
                net.lose(ROOT, FIRST)
            found = net.send(rank, block)
            net.flights.append(late)
            assert net.settle() == {}, f"rank {rank} of block {block}"
        assert found == dict.fromkeys((2, 3), net.total(block))
        assert net.send(0, block) == dict.fromkeys((0, 1), net.total(block))
    assert net.reasons == [(FIRST, "duplicate")] + [(FIRST, "stale")] * 7


def a_sum_of_the_other_version_is_not_taken(make: MakeProgram) -> None:
    """A late copy for version 0 comes while version 1 waits for its own."""
    net = Tiers(make)
    net.send_all(0)
    net.send_all(net.slots, (0, 1))
    net.flights.append(net.kept[ROOT, FIRST][0])
    assert net.settle() == {}
    assert net.send_all(net.slots, (2, 3)) == dict.fromkeys(EVERYONE, net.total(net.slots))


def a_worker_waits_for_the_root_too(make: MakeProgram) -> None:
    """No worker may use the other version while the leaf has the sum of its rack alone."""
    net = Tiers(make)
    net.send_all(0, (0, 1))
    assert net.send(0, net.slots) == {}
    assert net.reasons == [(FIRST, "overrun")]
    assert net.send_all(0, (2, 3)) == dict.fromkeys(EVERYONE, net.total(0))


def a_slot_that_is_used_again_waits_again(make: MakeProgram) -> None:
    """What the root answered for the older use says nothing about the present one."""
    net = Tiers(make)
    for block in (0, net.slots):
        net.send_all(block)
    assert net.send_all(2 * net.slots, (0, 1)) == {}
    assert net.send(1, 2 * net.slots) == {}
    assert net.replayed == []


def only_leaves_that_want_a_sum_get_its_elements(make: MakeProgram) -> None:
    net = Tiers(make)
    found: dict[int, list[int]] = {}
    for rank in EVERYONE:
        found |= net.send(rank, 0, [5, rank], flags=0 if rank == 3 else UNWANTED)
    assert found == {0: [], 1: [], 2: [], 3: [20, 6]}
    assert len(net.kept[ROOT, FIRST][0][2]) + 8 == len(net.kept[ROOT, SECOND][0][2])
    assert net.send(0, 0, [5, 0], flags=UNWANTED) == {0: []}


def a_rack_of_zeros_sends_none(make: MakeProgram) -> None:
    net = Tiers(make)
    found: dict[int, list[int]] = {}
    for rank in EVERYONE:
        found |= net.send(rank, 0, [] if rank < 2 else [7, rank], flags=EMPTY if rank < 2 else 0)
    assert found == {rank: [14, 5] for rank in EVERYONE}
    assert len(net.kept[FIRST, ROOT][0][2]) + 8 == len(net.kept[SECOND, ROOT][0][2])
    for rank in EVERYONE:
        found |= net.send(rank, 1, [], flags=EMPTY)
    assert found == {rank: [] for rank in EVERYONE}


def the_largest_exponents_are_those_of_all(make: MakeProgram) -> None:
    net = Tiers(make)
    for rank in EVERYONE:
        net.leave(rank, 0, exponent0=(3, -9, 7, 1)[rank], exponent1=-rank - 1)
    heads = []
    while net.flights:
        heads += [(rank, header) for rank, header, _ in net.deliver(net.flights.popleft())]
    assert sorted((rank, h.exponent0, h.exponent1) for rank, h in heads) == [(rank, 7, -1) for rank in EVERYONE]
    assert {(h.bitmap0, h.fan_in0) for _, h in heads} == {(0b1111, 4)}, "a worker's result names the workers"
    (again,) = [net.send(1, 0, exponent0=-9, exponent1=-2)]
    assert again == {1: net.total(0)}


def what_does_not_come_from_the_root_is_no_sum(make: MakeProgram) -> None:
    net = Tiers(make)
    net.lose(ROOT, FIRST)
    net.send_all(0)
    _, port, good = net.kept[ROOT, FIRST][0]
    net.flights.append((FIRST, 0, good))
    assert net.settle() == {}
    assert net.reasons == [(FIRST, "wrong_port")]
    net.flights.append((FIRST, port, good))
    assert net.settle() == dict.fromkeys((0, 1), net.total(0))


def any_order_any_losses_and_copies(make: MakeProgram) -> None:
    """Workers that send again until they have each result, over links that lose, copy and reorder."""
    for seed in range(30):
        draw = random.Random(seed)
        racks = draw.choice(((2, 2), (1, 2), (1, 1, 1), (3, 1)))
        net, blocks = Tiers(make, racks, slots=2), 12
        at = [[0] * net.slots for _ in range(net.size)]
        """[rank][index]: turns that it has the results of"""
        old: list[Any] = []
        for _ in range(4000):
            waiting = [(r, i) for r in range(net.size) for i in range(net.slots) if at[r][i] * net.slots + i < blocks]
            if not waiting:
                break
            rank, index = draw.choice(waiting)
            net.leave(rank, at[rank][index] * net.slots + index)
            for _ in range(draw.randrange(16)):
                if not net.flights:
                    break
                place = draw.randrange(min(4, len(net.flights)))
                frame = net.flights[place]
                if draw.random() < 0.85:
                    del net.flights[place]
                if draw.random() < 0.15:
                    continue
                old.append(frame)
                if draw.random() < 0.2:
                    net.flights.append(draw.choice(old[-40:]))
                for to, header, values in net.deliver(frame):
                    block, slot = header.sequence - 1, header.slot
                    if block == at[to][slot] * net.slots + slot:
                        assert values == net.total(block), f"seed {seed}: block {block} at rank {to}"
                        at[to][slot] += 1
        else:
            raise AssertionError(f"seed {seed}: no end")
        counts = [event.contributions for _, event in net.events if isinstance(event, BlockSummed)]
        assert counts == [(1,) * net.size] * blocks
        assert not any(net.open_at_end().values())


CASES: dict[str, Callable[[MakeProgram], None]] = {
    case.__name__: case
    for case in (
        all_get_the_sum_of_all, one_packet_goes_up_and_one_comes_down, nothing_goes_up_before_the_rack_is_complete,
        a_leaf_answers_nobody_before_the_root_did, a_lost_partial_sum_is_repeated, the_root_answers_one_leaf_alone,
        a_leaf_answers_one_worker_alone, a_second_copy_of_a_sum_is_dropped, a_sum_of_an_older_use_is_never_taken,
        a_sum_of_the_other_version_is_not_taken, a_worker_waits_for_the_root_too, a_slot_that_is_used_again_waits_again,
        only_leaves_that_want_a_sum_get_its_elements, a_rack_of_zeros_sends_none,
        the_largest_exponents_are_those_of_all, what_does_not_come_from_the_root_is_no_sum,
        any_order_any_losses_and_copies,
    )
}  # fmt: skip


class _AnyBlock(PoolService):
    """Takes any sum for that of the slot."""

    def sum_event(self, c: Contribution) -> int:
        pool = pool_of(c)
        return SUM if pool.seen[c.place] else STALE


class _NoVersion(PoolService):
    def version_of(self, flags: int) -> int:
        return 0


class _NeverRepeats(PoolService):
    def raise_again(self, c: Contribution) -> None:
        pass


class _NoReplay(PoolService):
    def replay(self, c: Contribution) -> None:
        pass


class _ReplayToAll(PoolService):
    def replay(self, c: Contribution) -> None:
        pool = pool_of(c)
        self.send_result(c, 0, pool.size)


class _AnswersByRack(PoolService):
    """Gives the sum of the rack to a worker that asks too early."""

    def raise_again(self, c: Contribution) -> None:
        self.replay(c)


class _SpreadsByPartial(PoolService):
    """Gives out the sum of the rack, when the root's comes."""

    def spread(self, c: Contribution) -> None:
        pool = pool_of(c)
        pool.answered[c.place] = 1
        self.send_result(c, 0, pool.size)


class _RunsAhead(PoolService):
    """Takes the other version for free while it waits."""

    def slot_event(self, c: Contribution) -> int:
        event, pool = super().slot_event(c), pool_of(c)
        other = (1 - c.version) * pool.slots + c.cell
        return NEW if event == OVERRUN and pool.state(other) == WAITING else event


class _KeepsAnswer(PoolService):
    """A slot that is used again counts as answered."""

    def store(self, c: Contribution) -> None:
        pool = pool_of(c)
        answered = pool.answered[c.place]
        super().store(c)
        pool.answered[c.place] = answered


class _ForgetsSum(PoolService):
    """Sends the root's sum on and keeps its own."""

    def spread(self, c: Contribution) -> None:
        pool = pool_of(c)
        first = pool.value_at(c.place)
        before = list(pool.values[first : first + pool.elements])
        super().spread(c)
        for at, value in enumerate(before):
            pool.values[first + at] = value


class _TellsOneRack(Pool):
    def contributions(self, slot: int) -> tuple[int, ...]:
        first = slot * self.size
        return tuple([self.entered[at] for at in range(first, first + self.size)])


class _AllWanted(UdpService):
    def write_up(self, asked: Any, pool: Pool, slot: int, outbox: Any) -> None:
        pool.wanted[slot] = pool.everyone
        super().write_up(asked, pool, slot, outbox)


class _NoneEmpty(UdpService):
    def write_up(self, asked: Any, pool: Pool, slot: int, outbox: Any) -> None:
        pool.length[slot] = max(pool.length[slot], 2)
        super().write_up(asked, pool, slot, outbox)


def _program(name: str, service: type[PoolService] = PoolService, pool: type[Pool] = Pool) -> type[SwitchMlProgram]:
    return type(name, (SwitchMlProgram,), {"service_class": service, "pool_class": pool})


def _framed(name: str, framing: type[UdpService]) -> type[SwitchMlProgram]:
    def __init__(self: Any, config: SwitchConfig) -> None:
        SwitchMlProgram.__init__(self, config)
        self.service = PoolService(self, config, self.served, framing(config.jobs))

    return type(name, (SwitchMlProgram,), {"__init__": __init__})


MUTANTS: dict[type[SwitchMlProgram], str] = {
    _program("AnyBlock", _AnyBlock): "a_sum_of_an_older_use_is_never_taken",
    _program("NoVersion", _NoVersion): "any_order_any_losses_and_copies",
    _program("NeverRepeats", _NeverRepeats): "a_lost_partial_sum_is_repeated",
    _program("NoReplay", _NoReplay): "a_leaf_answers_one_worker_alone",
    _program("ReplayToAll", _ReplayToAll): "the_root_answers_one_leaf_alone",
    _program("AnswersByRack", _AnswersByRack): "a_leaf_answers_nobody_before_the_root_did",
    _program("SpreadsByPartial", _SpreadsByPartial): "all_get_the_sum_of_all",
    _program("RunsAhead", _RunsAhead): "a_worker_waits_for_the_root_too",
    _program("KeepsAnswer", _KeepsAnswer): "a_slot_that_is_used_again_waits_again",
    _program("ForgetsSum", _ForgetsSum): "a_leaf_answers_one_worker_alone",
    _program("TellsOneRack", pool=_TellsOneRack): "one_packet_goes_up_and_one_comes_down",
    _framed("AllWanted", _AllWanted): "only_leaves_that_want_a_sum_get_its_elements",
    _framed("NoneEmpty", _NoneEmpty): "a_rack_of_zeros_sends_none",
}
"""and the case that finds it"""
