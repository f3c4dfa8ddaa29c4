"""The table is what the server does, all of it, and the documentation shows it."""

from __future__ import annotations

import random
from pathlib import Path

from tests.support.server_bench import COLLISION, EVICTED, RESEND, ServerBench
from workloads.server.tables import BLOCK_TABLE, DROP_REASONS, BlockAction
from workloads.wire.aggregation import DatagramKind

DOCS = Path(__file__).resolve().parents[3] / "docs" / "atp.md"


def test_honest_and_dishonest_packets_reach_every_pair_and_no_other() -> None:
    draw, steps = random.Random(3), set()
    for run in range(60):
        workers = 1 + run % 3
        bench = ServerBench(("atp", "esa")[run % 2], workers=workers, again=run % 5 == 0)
        at = 0
        for _ in range(80):
            at += draw.random() < 0.2
            block = max(0, at + draw.choice((0, 0, 0, -1, -2, -4, -8, -9, 3, 5)))
            ranks = [rank for rank in range(workers) if draw.random() < 0.5] or [draw.randrange(workers)]
            kind = draw.choice((DatagramKind.DATA,) * 6 + (DatagramKind.RESULT, DatagramKind.REMINDER_EMPTY))
            if kind == DatagramKind.REMINDER_EMPTY:
                ranks = draw.choice(([], ranks[:1]))
                bench.send(ranks, block, values=[], kind=kind)
                continue
            if kind == DatagramKind.RESULT:
                ranks = list(range(workers))
            values = [1, 2, 3] if draw.random() < 0.05 else None
            bench.send(ranks, block, draw.choice((0, 0, RESEND, COLLISION, EVICTED)), values, kind=kind)
            if draw.random() < 0.2 and bench.server.get_timer() is not None:
                bench.wait()
        steps |= bench.steps
    wanted = {
        (state.name.lower(), event.name.lower(), after.name.lower())
        for (state, event), (after, _) in BLOCK_TABLE.items()
    }
    assert steps == wanted


def test_every_action_has_a_handler_or_a_reason_to_drop() -> None:
    handlers = ServerBench("atp").server.handlers()
    assert set(handlers) | set(DROP_REASONS) == set(BlockAction)
    assert set(handlers) & set(DROP_REASONS) == {BlockAction.DROP_OVERLAP}
    assert {action for _, action in BLOCK_TABLE.values()} | {BlockAction.UNFORESEEN} == set(BlockAction)
    drops = {action for action in BlockAction if action.name.startswith("DROP_")}
    assert drops | {BlockAction.UNFORESEEN} == set(DROP_REASONS) == set(BLOCK_TABLE.reasons)


def test_documentation_shows_the_table() -> None:
    assert f"```mermaid\n{BLOCK_TABLE.diagram()}```\n" in DOCS.read_text(encoding="utf-8")
