"""Bugs planted into all-reduces that are schedules of transfers: in what a worker's phases do, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from testbed.hunt.judge import Machines
from workloads.collectives.phased import PhasedCollective
from workloads.collectives.ring import RingCollective
from workloads.config import WorkerConfig
from workloads.hosts import create_host
from workloads.worker import WorkerMachine

__all__ = ["SCHEDULE_MUTANTS"]


class BrokenWorker(WorkerMachine):
    """Of a class of its own, so that no compiled loop takes its place."""


def _of(change: Callable[[Any], None]) -> Machines:
    """`change`: of the PhasedCollective of every worker."""

    def employ(config: Any, start_ns: int) -> Any:
        worker = create_host(config, start_ns)
        worker.__class__ = BrokenWorker
        change(worker._collective)
        return worker

    return Machines(employ=employ)


def _told(change: Callable[[WorkerConfig], WorkerConfig]) -> Machines:
    """`change`: of what a worker is told."""
    return Machines(employ=lambda config, start_ns: create_host(change(config), start_ns))


def begins_early(collective: PhasedCollective) -> None:
    """A step begins when the one before has begun."""
    collective._is_over = lambda: (
        collective._current + 1 < len(collective._steps) or all(phase.whole for phase in collective._phases)
    )


def one_buffer(collective: PhasedCollective) -> None:
    """Sums go where the step reads from, which a retransmission may still need."""
    buffers = collective._buffers

    def same() -> Any:
        source, target = buffers()
        if collective._current <= collective._last_sum and source is not target:
            target.view(np.uint8)[:] = source.view(np.uint8)
            return target, target
        return source, target

    collective._buffers = same


def own_part_twice(collective: PhasedCollective) -> None:
    """The next step starts from the gradient, and not from what was summed."""
    begin = collective._begin_next

    def again(now: int) -> None:
        begin(now)
        if collective._current == 0:
            collective._first = collective._source
        elif collective._current < collective._last_sum:
            collective._held = collective._first

    collective._begin_next = again


def last_iteration_left(collective: PhasedCollective) -> None:
    """What the last iteration left in the result is taken for this one's: the last step is not waited for."""
    is_over = collective._is_over
    collective._is_over = lambda: (
        is_over() or (collective._iteration > 0 and collective._current + 1 == len(collective._steps))
    )


def result_too_soon(collective: PhasedCollective) -> None:
    """The iteration is over one step early."""
    complete = collective._begin_next

    def skip(now: int) -> None:
        complete(now)
        if collective._current + 1 == len(collective._steps) and collective._iteration == 1:
            collective._over = True
            collective._complete(now)

    collective._begin_next = skip


def _rings(collective: PhasedCollective) -> list[Any]:
    return [phase for phase in collective._phases if isinstance(phase, RingCollective)]


def slot_of_the_message_before(collective: PhasedCollective) -> None:
    """What came is taken from the slot of the message before: one of the last iteration, or of another part."""
    for ring in _rings(collective):
        view = ring._slots.view
        ring._slots.view = lambda message, view=view: view(message - 1 if message else message)


def partial_not_replaced(collective: PhasedCollective) -> None:
    """A final sum is added to what the rank holds."""
    for ring in _rings(collective):
        consume = ring._consume

        def adding(now: int, ring: Any = ring, consume: Any = consume) -> bool:
            kept = ring._config
            if kept.kind == "chain_broadcast":
                ring._config = replace(kept, kind="chain_reduce")
            elif kept.kind == "all_gather":
                ring._config = replace(kept, kind="exchange", size=100)
            try:
                return bool(consume(now))
            finally:
                ring._config = kept

        ring._consume = adding


def message_folded_twice(collective: PhasedCollective) -> None:
    """What is sent again after a loss, or simply the second message, is added twice."""
    for ring in _rings(collective):
        consume = ring._consume

        def twice(now: int, ring: Any = ring, consume: Any = consume) -> bool:
            if ring._consumed != 1 or ring._config.kind not in (
                "chain_reduce",
                "exchange",
                "reduce_scatter",
                "collect",
            ):
                return bool(consume(now))
            item = ring._receives[1]
            done = bool(consume(now))
            if done:
                target = np.frombuffer(ring._result[item.start : item.stop], np.uint8).view("<i4")
                view = memoryview(ring._result[item.start : item.stop]).cast("B")
                view[:] = (target + target).view(np.uint8).data
            return done

        ring._consume = twice


def never_acknowledged(collective: PhasedCollective) -> None:
    """A step waits for one more acknowledgement than there are messages."""
    for ring in _rings(collective):
        sent = ring.on_sent

        def late(completion: Any, now: int, ring: Any = ring, sent: Any = sent) -> None:
            if completion.wr_id + 1 < ring._send_base + len(ring._sends) or completion.wr_id == 0:
                sent(completion, now)

        ring.on_sent = late


def _part(shift: Callable[[Any], Any]) -> Callable[[WorkerConfig], WorkerConfig]:
    return lambda config: replace(config, phases=tuple(shift(phase) for phase in config.phases))


def _begins_one_later(phase: Any) -> Any:
    """The last element of the part is left out where it begins one later."""
    if phase.collective.rank == 0 and phase.elements > 1 and phase.first_element + phase.elements > 1:
        return replace(phase, first_element=max(0, phase.first_element - 1) if phase.first_element else 0,
                       elements=phase.elements)  # fmt: skip
    return phase


def _one_less(phase: Any) -> Any:
    """A part is one element shorter at all ranks: the last element is never summed."""
    return replace(phase, elements=phase.elements - 1) if phase.elements > 2 else phase


def _reversed(config: WorkerConfig) -> WorkerConfig:
    """The first two steps change places."""
    phases, steps = config.phases, sorted({phase.step for phase in config.phases})
    if len(steps) < 3:
        return config
    swap = {steps[0]: steps[1], steps[1]: steps[0]}
    moved = sorted(
        (replace(phase, step=swap.get(phase.step, phase.step)) for phase in phases), key=lambda phase: phase.step
    )
    return replace(config, phases=tuple(moved))


def _other_op(config: WorkerConfig) -> WorkerConfig:
    """Rank 0 takes the largest instead of the sum."""
    if config.collective.rank != 0:
        return config
    arithmetic = replace(config.collective.arithmetic, op="max")
    return replace(
        config,
        collective=replace(config.collective, arithmetic=arithmetic),
        phases=tuple(replace(p, collective=replace(p.collective, arithmetic=arithmetic)) for p in config.phases),
    )


def _skips(kind: str) -> Callable[[WorkerConfig], WorkerConfig]:
    """Rank 1 forgets the last of its phases of a kind."""

    def skip(config: WorkerConfig) -> WorkerConfig:
        if config.collective.rank != 1 or len(config.phases) < 2:
            return config
        return replace(config, phases=config.phases[:-1] if kind == "last" else config.phases[1:])

    return skip


def collected_in_another_order(collective: PhasedCollective) -> None:
    """What was collected is summed from the last to the first."""
    summed = collective._sum_what_was_collected

    def backwards() -> None:
        step = collective._steps[collective._current]
        step.reverse()
        summed()
        step.reverse()

    collective._sum_what_was_collected = backwards


def summed_before_all_is_there(collective: PhasedCollective) -> None:
    """Shares are summed when one of them is there."""
    is_over = collective._is_over

    def one() -> bool:
        step = collective._steps[collective._current]
        if any(number in collective._rows for number in step) and collective._kind(step[0]) == "collect":
            phases = [collective._phases[number] for number in step]
            return any(phase.whole and number in collective._rows for number, phase in zip(step, phases, strict=True))
        return is_over()

    collective._is_over = one


def own_share_left_out(collective: PhasedCollective) -> None:
    """A server does not add its own part."""
    summed = collective._sum_what_was_collected

    def without() -> None:
        kept = collective._source
        collective._source = np.zeros_like(kept)
        summed()
        collective._source = kept

    collective._sum_what_was_collected = without


SCHEDULE_MUTANTS: Mapping[str, Machines] = {
    **{
        change.__name__: _of(change)
        for change in (
            begins_early, one_buffer, own_part_twice, last_iteration_left, result_too_soon, slot_of_the_message_before,
            partial_not_replaced, message_folded_twice, never_acknowledged, collected_in_another_order,
            summed_before_all_is_there, own_share_left_out,
        )
    },
    "part_one_off": _told(_part(_begins_one_later)),
    "part_one_short": _told(_part(_one_less)),
    "steps_exchanged": _told(_reversed),
    "other_operation": _told(_other_op),
    "last_phase_forgotten": _told(_skips("last")),
    "first_phase_forgotten": _told(_skips("first")),
}  # fmt: skip
