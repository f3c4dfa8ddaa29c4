"""The reference run of an emulated run: the same plan and seed in virtual time.

It runs in a process of its own that may not take longer than the run itself took.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import random
import select
import signal
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from enum import Enum, auto

from testbed.checkers import CheckContext
from testbed.checkers.twins import MOST_TWINS, TWINS, Figures, Twin, is_by_identity, judge_twin, needs_several
from testbed.figures.metrics import figures_of, metrics
from testbed.history import Record, sort_history
from testbed.plan import Plan
from testbed.plan.commodity import openflow_switches
from testbed.scenario.own_program import is_own_program
from testbed.terminal.numbers import seconds
from testbed.worlds.base import RunFacts, World
from testbed.worlds.simulated.finishing import FinishingMachine
from testbed.worlds.simulated.world import make_worker, simulate
from topologies import Link
from workloads.config import NodeConfig
from workloads.errors import TestbedError

__all__ = ["has_twin", "make_twin", "run_twins", "why_no_judge"]

LEAST_BUDGET_S = 2.0
_ENOUGH = 3
"""reference runs that are enough when the time is over: fewer runs span a narrower range, so that they judge no
milder"""
_SILENT_S, _TELL_EVERY_S = 1.0, 5.0
_SIZE_BYTES = 4
"""in front of each answer of the child; 0: all runs ended"""
_WAKE_UP_NS = 1_000_000
"""of the machine: a start may be late by less"""
_FRAME_PARTS = 50
"""of the time of a frame: by one of these it may come late"""


def why_no_judge(plan: Plan, backends: str = "") -> str:
    """Why virtual time cannot say what this plan takes; empty: it can. `backends`: as the environment of the run names
    those of its faults."""
    tcp = [flow.config.name for flow in plan.background if flow.kind == "tcp"]
    if tcp:
        return f"no reference run: the kernel's TCP ({', '.join(tcp)}) runs in real time only"
    if plan.scenario.nics:
        host, device = plan.scenario.nics[0]
        return f"no reference run: {host} is on the RDMA device {device}, which virtual time does not have"
    if names := openflow_switches(plan):
        return f"no reference run: Open vSwitch ({', '.join(sorted(names))}) forwards as fast as this machine lets it"
    if "netem" in backends:
        return "no reference run: netem makes its own random choices"
    if is_own_program(plan.scenario.switch.program):
        return "no reference run: the switch runs a program of your own"
    return ""


Keep = Callable[[Sequence[Record]], None]
"""takes the history of the first reference run, in the process of the reference runs"""


def _drop(history: Sequence[Record]) -> None:
    pass


def run_twins(plan: Plan, own: Figures, tell: Callable[[Figures], None], keep: Keep = _drop) -> None:
    """One run in virtual time after the other, as many as it takes to judge `own`."""
    by_identity = is_by_identity(plan.scenario.faults)
    runs = [_figures(plan, None, keep)]
    tell(runs[0])
    most = MOST_TWINS if needs_several(plan.scenario, runs[0]) else 1
    while len(runs) < most and (len(runs) < TWINS or judge_twin(own, Twin(tuple(runs), by_identity))):
        runs.append(_figures(plan, random.Random(f"{plan.scenario.seed} {len(runs)}")))
        tell(runs[-1])


def _figures(plan: Plan, dice: random.Random | None, keep: Keep = _drop) -> Figures:
    """`dice`: how late each worker starts, by less than a wake-up, and what each link does to its frames."""
    most_ns = _WAKE_UP_NS // (plan.scenario.dilation or 1)
    if dice is not None:
        plan = _uneven(plan, most_ns, dice)

    def employ(config: NodeConfig, start_ns: int) -> FinishingMachine:
        return make_worker(config, start_ns + (dice.randrange(most_ns) if dice is not None else 0))

    history = sort_history(simulate(plan, employ=employ))
    keep(history)
    return figures_of(metrics(CheckContext(plan, history)))


def _uneven(plan: Plan, most_ns: int, dice: random.Random) -> Plan:
    """Each frame arrives a little later: by less than a wake-up, and by a small part of its time on the link. Where all
    frames take as long, and their senders wait for each other, many come at one instant, and virtual time always takes
    them in the same order. So it may be this one first or that one, as between namespaces."""
    topology = plan.scenario.topology
    frame_bits = 8 * plan.least_frame_bytes

    def uneven(link: Link) -> Link:
        shape = link.shape
        late_ns = min(most_ns, frame_bits * 10**9 // shape.rate_bps // _FRAME_PARTS) // 2
        own_ns = dice.randrange(late_ns + 1)
        shape = replace(shape, delay_ns=shape.delay_ns + own_ns, jitter_ns=shape.jitter_ns + own_ns)
        return replace(link, shape=shape)

    topology = replace(topology, links=tuple(map(uneven, topology.links)))
    return replace(plan, scenario=replace(plan.scenario, topology=topology))


def has_twin(world: World) -> bool:
    """Whether all of the run follows from its plan: a card of a lab, or the ranks of a training, do not."""
    return bool(getattr(world, "has_twin", False))


def make_twin(
    plan: Plan,
    own: Figures,
    budget_s: float,
    facts: RunFacts,
    say: Callable[[str], None] = lambda text: None,
    keep: Keep = _drop,
) -> Twin:
    """Of a plan that ran in the emulated world, with `own` figures, in at most `budget_s` of real time."""
    if reason := why_no_judge(plan, facts.environment.get("faults", "")):
        return Twin(left_out=reason)
    began = time.monotonic()
    budget_s = max(LEAST_BUDGET_S, budget_s)
    scenario = replace(plan.scenario, trace=False, capture=False)
    runs, end = _in_child(replace(plan, scenario=scenario), own, began + budget_s, say, keep)
    took_s = time.monotonic() - began
    if end is _End.LATE and len(runs) < _ENOUGH:
        reason = f"the reference run in virtual time did not end within {seconds(budget_s)}, as long as the run took"
        return Twin(runs, left_out=reason, fails=True, took_s=took_s)
    if end is _End.FAILED:
        return Twin(runs, left_out="the reference run in virtual time failed", fails=True, took_s=took_s)
    return Twin(runs, is_by_identity(plan.scenario.faults), took_s=took_s)


class _End(Enum):
    ALL = auto()
    LATE = auto()
    FAILED = auto()


def _in_child(
    plan: Plan, own: Figures, deadline: float, say: Callable[[str], None], keep: Keep
) -> tuple[tuple[Figures, ...], _End]:
    """The figures of the runs that ended. The child goes with us, and when its time is over."""
    sys.stdout.flush()
    sys.stderr.flush()
    parent, (source, sink) = os.getpid(), os.pipe()
    child = os.fork()
    if not child:
        _answer(plan, own, keep, parent, source, sink)
    os.close(sink)
    data, runs, end = bytearray(), list[Figures](), _End.LATE
    next_line = time.monotonic() + _SILENT_S
    try:
        while end is _End.LATE and (left := deadline - time.monotonic()) > 0:
            if time.monotonic() >= next_line:
                say(f"reference run in virtual time: run {len(runs) + 1}, {left:.0f} s left for it")
                next_line = time.monotonic() + _TELL_EVERY_S
            if not select.select([source], [], [], min(left, 0.1))[0]:
                continue
            part = os.read(source, 65_536)
            end = _End.LATE if part else _End.FAILED
            data += part
            while len(data) >= _SIZE_BYTES:
                size = int.from_bytes(data[:_SIZE_BYTES], "little")
                if size == 0:
                    end = _End.ALL
                if len(data) < _SIZE_BYTES + size or end is _End.ALL:
                    break
                runs.append(pickle.loads(data[_SIZE_BYTES : _SIZE_BYTES + size]))
                del data[: _SIZE_BYTES + size]
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(source)
    return tuple(runs), end


def _answer(plan: Plan, own: Figures, keep: Keep, parent: int, source: int, sink: int) -> None:
    """Never returns."""
    try:
        # Of Linux; whoever runs in another world needs none of it.
        from testbed.kernel.processes import HOST_NICE, die_with_parent, take_precedence

        os.close(source)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        die_with_parent(parent)
        with contextlib.suppress(OSError):
            # Its time is short, and other processes of the machine are not part of the run.
            os.setsid()
            take_precedence(HOST_NICE)

        def tell(found: Figures) -> None:
            data = pickle.dumps(Figures(dict(found.seconds), found.resent))
            _write(sink, len(data).to_bytes(_SIZE_BYTES, "little") + data)

        run_twins(plan, own, tell, keep)
        _write(sink, bytes(_SIZE_BYTES))
    except TestbedError:
        os._exit(1)
    finally:
        os._exit(0)


def _write(sink: int, data: bytes) -> None:
    while data:
        data = data[os.write(sink, data) :]
