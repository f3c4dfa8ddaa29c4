"""What worlds do with a card: bring it up for a plan, stop it, and turn what it tells into records."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from switch_nodes.config import SwitchConfig
from switch_nodes.events import SwitchStatistics
from testbed.history import Record, make_record
from testbed.history.events import CaptureCut, CardCounted
from testbed.lab import plays, steps
from testbed.lab.lab import Lab
from testbed.lab.model import Card, Host
from testbed.lab.transfer import receive
from testbed.plan.nodeconfig import dump_node_config
from testbed.worlds.lab.gathering import read_lines, trace_records
from workloads.errors import LabError

__all__ = ["configure_card", "tell_card"]

_NO_TRACE = (
    "exactly_once: which packet entered which sum; the card tells counters and no trace",
    "liveness: each slot at the end; the card tells counters and no trace",
    "slots_private: how many slots were in use; the card tells its active rings and no trace",
)


def configure_card(lab: Lab, card: Card, switch: SwitchConfig) -> None:
    """A card that is programmed, as after power-on, runs `switch` from now on. Raises LabError."""
    plays.reset(lab, card.name)
    plays.configure(lab, card.name, dump_node_config(switch))
    plays.start(lab, card.name)


def tell_card(
    lab: Lab,
    card: Card,
    switch: str,
    folder: Path,
    origin_ns: int,
    tell: Callable[[Record], None],
    capture: Path | None,
) -> tuple[str, ...]:
    """Records of a card that was stopped, as the node `switch`; its frames go to `capture`. Returns what checkers
    do not see of it, by check (RunFacts.partial). Raises LabError."""
    host = lab.inventory.hosts[card.host]
    if card.trace is None:
        counters = lab.do("counters", steps.counters(lab, card), [host])[host.name]
        rings = lab.do("configuration", steps.on_card(lab, card, "configuration"), [host])[host.name]
        tell(make_record(0, switch, SwitchStatistics(counters)))
        tell(make_record(0, switch, CardCounted(counters, tuple(map(tuple, rings)))))
        return _NO_TRACE

    def fetch(host: Host) -> steps.Done:
        shell = lab.shell(host)
        size = receive(shell, f"{card.trace}.jsonl", folder / f"{host.name}-trace.jsonl")
        if capture is not None:
            size += receive(shell, f"{card.trace}.pcapng", capture)
        return steps.Done(size, f"{size} bytes")

    folder.mkdir(parents=True, exist_ok=True)
    lab.do("trace", fetch, [host])
    for record in trace_records(read_lines(folder / f"{host.name}-trace.jsonl", host.name), switch, origin_ns):
        if isinstance(record.event, CaptureCut):
            problem = f"the trace of card {card.name} was cut at {record.event.limit_bytes} bytes: it did too much to be judged"
            raise LabError(host.name, f"{problem}; a shorter job, or an inventory without `trace:`")
        tell(record)
    return ()
