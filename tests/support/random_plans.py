"""Plans drawn from a seed: small racks with every kind of fault, all collectives, both verbs."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import replace

from testbed.faults.model import (
    Burst,
    Corrupt,
    Delay,
    Drop,
    Duplicate,
    EcnMark,
    Fault,
    Kill,
    LinkDown,
    Loss,
    Match,
    Pause,
    RateChange,
    Reorder,
    Window,
)
from testbed.plan import Plan
from testbed.scenario.keys.job import Straggler
from tests.support.simulation import rack_links, rack_plan
from topologies import Direction

__all__ = ["draw_plan"]

MS = 1_000_000
_DIRECTIONS = ((Direction.UP,), (Direction.DOWN,), (Direction.UP, Direction.DOWN))


class _Draw:
    def __init__(self, seed: int) -> None:
        self.dice = random.Random(f"plan {seed}")
        self.hosts = self.dice.choice([2, 2, 3, 4])
        self.rate = self.dice.choice([0.002, 0.02, 0.1])

    def where(self) -> tuple[tuple[str, ...], tuple[Direction, ...]]:
        links = rack_links(self.hosts)
        return tuple(self.dice.sample(links, self.dice.randint(1, self.hosts))), self.dice.choice(_DIRECTIONS)

    def window(self) -> Window:
        start = self.dice.choice([0, self.dice.randrange(10 * MS)])
        return Window(start, self.dice.choice([None, start + 1 + self.dice.randrange(20 * MS)]))

    def short(self) -> Window:
        start = self.dice.randrange(8 * MS)
        return Window(start, start + self.dice.randrange(1, 15 * MS))


def _kill(draw: _Draw, name: str) -> Fault:
    start = draw.dice.randrange(8 * MS)
    return Kill(name, draw.dice.choice(["s1", "h2"]), Window(start, start + MS if draw.dice.random() < 0.7 else None))


_FAULTS: Mapping[str, Callable[[_Draw, str], Fault]] = {
    "loss": lambda d, name: Loss(name, *d.where(), rate=d.rate, window=d.window()),
    "burst": lambda d, name: Burst(
        name, *d.where(), rate=d.rate / 3, recover=0.3, loss_bad=0.7, loss_good=0.0, window=d.window()
    ),
    "drop": lambda d, name: Drop(name, *d.where(), match=Match(psn_offset=d.dice.randrange(8), attempt=1)),
    "corrupt": lambda d, name: Corrupt(
        name, *d.where(), rate=d.rate, window=d.window(), repair_icrc=d.dice.random() < 0.3
    ),
    "duplicate": lambda d, name: Duplicate(
        name, *d.where(), rate=d.rate, window=d.window(), delay_ns=d.dice.choice([0, 1000, MS])
    ),
    "reorder": lambda d, name: Reorder(
        name, *d.where(), rate=d.rate, window=d.window(), delay_ns=d.dice.choice([10_000, 300_000, 3 * MS])
    ),
    "delay": lambda d, name: Delay(
        name, *d.where(), rate=d.dice.choice([d.rate, 1.0]), window=d.window(),
        delay_ns=d.dice.choice([10_000, 2 * MS]), jitter_ns=d.dice.choice([0, 5000]),
    ),
    "ecn_mark": lambda d, name: EcnMark(name, *d.where(), rate=d.dice.choice([d.rate, 1.0]), window=d.window()),
    "link_down": lambda d, name: LinkDown(
        name, *d.where(), window=d.short(), count=d.dice.choice([1, 2]), period_ns=16 * MS
    ),
    "rate_change": lambda d, name: RateChange(
        name, *d.where(), d.window(), d.dice.choice([5_000_000, 20_000_000, 500_000_000])
    ),
    "pause": lambda d, name: Pause(name, d.dice.choice(["s1", "h1", "h2"]), d.short()),
    "kill": _kill,
}  # fmt: skip


def draw_plan(seed: int) -> Plan:
    """The same plan for the same seed."""
    draw = _Draw(seed)
    dice = draw.dice
    kinds = [dice.choice(sorted(_FAULTS)) for _ in range(dice.choice([0, 1, 1, 2, 3]))]
    faults = tuple(_FAULTS[kind](draw, f"{kind}{number}") for number, kind in enumerate(kinds))
    job = {
        "size_bytes": 4 * dice.randrange(1, 9000),
        "message_packets": dice.choice([1, 2, 3, 7, 16, 170]),
        "window_messages": dice.choice([1, 2, 3]),
        "protocol": dice.choice(["netreduce", "netreduce", "netreduce", "ring", "shift"]),
        "iterations": dice.choice([1, 1, 2]),
        "credit": dice.choice(["both", "received", "acked"]),
        "dtype": dice.choice(["float32", "int32"]),
    }
    if dice.random() < 0.2:
        job |= {"straggler": Straggler(0, dice.randrange(10 * MS))}
    transport = {
        "verb": dice.choice(["write", "send"]),
        "ack_every": dice.choice([1, 3, 16]),
        "path_mtu": dice.choice([256, 1024, 1024]),
        "timeout_code": dice.choice([0, 9, 11, 13]),
        "start_psn": dice.choice([None, (1 << 24) - 5, (1 << 24) - 40]),
        "retry_count": dice.choice([2, 7]),
        "receive_late_ns": dice.choice([0, 0, 0, 200_000]),
    }
    link = {
        "rate_bps": dice.choice([100_000_000, 1_000_000_000, 123_456_789]),
        "delay_ns": dice.choice([0, 0, 10_000, MS]),
        "jitter_ns": dice.choice([0, 0, 5000]),
        "queue_packets": dice.choice([1000, 1000, 12]),
    }
    plan = rack_plan(
        draw.hosts, seed=seed, faults=faults, job=job, transport=transport, link=link, time_limit_ns=200 * MS
    )
    window, every = dice.choice([(1 << 20, 64), (1 << 20, 5), (7, 64), (1, 64)])
    workers = (
        replace(worker, to_successor=replace(worker.to_successor, window_packets=window, ack_request_every=every))
        for worker in plan.workers
    )
    return replace(plan, workers=tuple(workers))
