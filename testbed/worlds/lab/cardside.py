"""What worlds do with a card: bring it up for a plan, stop it, and turn its reports into records."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from switch_nodes.config import SwitchConfig
from switch_nodes.events import SwitchStatistics
from testbed.history import Record, make_record
from testbed.history.events import CaptureCut, CardCounted
from testbed.lab.drivers import LabCardDriver
from testbed.plan.nodeconfig import dump_node_config
from testbed.worlds.lab.gathering import read_lines, trace_records
from workloads.errors import LabError

__all__ = ["configure_card", "tell_card"]

_NO_TRACE = (
    "exactly_once: which packet entered which sum; the card reports counters and no trace",
    "liveness: each slot at the end; the card reports counters and no trace",
    "slots_private: how many slots were in use; the card reports its active rings and no trace",
)


def configure_card(card: LabCardDriver, switch: SwitchConfig) -> None:
    """A card that is programmed, as after power-on, runs `switch` from now on. Raises LabError."""
    card.reset()
    card.configure(config=dump_node_config(switch))
    card.start()


def tell_card(
    driver: LabCardDriver,
    switch: str,
    folder: Path,
    origin_ns: int,
    tell: Callable[[Record], None],
    capture: Path | None,
    dilation: int = 1,
) -> tuple[str, ...]:
    """Records of a card that was stopped, as the node `switch`; its frames go to `capture`. Returns what checkers
    do not see of it, by check (RunFacts.partial). `dilation`: of the lab. Raises LabError."""
    card = driver.card
    if card.trace is None:
        counters, rings = driver.counters(), driver.configuration()
        tell(make_record(0, switch, SwitchStatistics(counters)))
        tell(make_record(0, switch, CardCounted(counters, rings)))
        return _NO_TRACE
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{card.host}-trace.jsonl"
    driver.trace(path=path, capture=capture)
    has_totals = False
    for record in trace_records(read_lines(path, card.host), switch, origin_ns, dilation):
        has_totals = has_totals or isinstance(record.event, SwitchStatistics)
        if isinstance(record.event, CaptureCut):
            problem = (
                f"the trace of card {card.name} was cut at {record.event.limit_bytes} bytes: it did too much to be "
                "judged"
            )
            raise LabError(card.host, f"{problem}; a shorter job, or an inventory without `trace:`")
        tell(record)
    if not has_totals:
        tell(make_record(0, switch, SwitchStatistics(driver.counters())))
    return ()
