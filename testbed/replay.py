"""`tb replay RUN_DIR`: the same scenario and seed again, here or in another world, and what differs from the first time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from testbed.history import Record, read_history
from testbed.run import Observer, RunResult, read_result, run_scenario
from testbed.scenario import load_scenario
from testbed.worlds.base import World
from workloads.wire import OPCODES

__all__ = ["Comparison", "compare", "replay"]


@dataclass(frozen=True, slots=True)
class Comparison:
    """What must be equal in every world: results, verdict, and the fate of every first transmission of data. What comes
    after a loss (which retransmissions exist, which ACKs were coalesced) depends on time, which only the simulated
    world repeats: there the whole history is compared."""

    result: RunResult
    differences: tuple[str, ...]
    compared: tuple[str, ...]
    """what was compared, with counts"""

    @property
    def exit_code(self) -> int:
        """1 when something differs; else that of the new run."""
        return 1 if self.differences else self.result.exit_code


def replay(
    run_dir: Path,
    out: Path | None = None,
    observer: Observer | None = None,
    world: str | None = None,
    realised: World | None = None,
) -> Comparison:
    """`world`: another one than that of the run; `realised`: it, where its name does not say all. Raises ScenarioError when
    `run_dir` is no finished run."""
    before = read_result(run_dir)
    scenario = load_scenario(str(run_dir / "scenario.yaml"), world=world)
    result = run_scenario(scenario, out, observer=observer, world=realised)
    same = scenario.world if scenario.world == before["world"] else ""
    return compare(before["verdict"], list(read_history(run_dir / "history.jsonl")), result, same)


def compare(verdict: str, history: list[Record], result: RunResult, world: str) -> Comparison:
    """`world`: of both runs; empty when they are of two."""
    differences: list[str] = []
    # Both from their files: JSON knows no tuples.
    fresh = list(read_history(result.run_dir / "history.jsonl"))
    if verdict != result.document["verdict"]:
        differences.append(f"verdict: {verdict} before, {result.document['verdict']} now")
    digests, fresh_digests = _digests(history), _digests(fresh)
    for key in sorted(digests.keys() | fresh_digests.keys()):
        if digests.get(key) != fresh_digests.get(key):
            node, iteration = key
            differences.append(f"result of {node}, iteration {iteration}: not the same bytes")
    struck, fresh_struck = _data_strikes(history), _data_strikes(fresh)
    differences += [f"struck before, not now: {item}" for item in sorted(struck - fresh_struck)]
    differences += [f"struck now, not before: {item}" for item in sorted(fresh_struck - struck)]
    compared = [f"{len(digests)} results", f"{len(struck)} strikes on first transmissions of data"]
    if world == "simulated":
        compared.append(f"{len(history)} records of history")
        differences += _first_difference(history, fresh)
    return Comparison(result, tuple(differences), tuple(compared))


def _digests(history: Iterable[Record]) -> dict[tuple[str, int], str]:
    return {
        (record["node"], record["iteration"]): record["sha256"]
        for record in history
        if record["event"] == "CollectiveCompleted"
    }


def _data_strikes(history: Iterable[Record]) -> set[str]:
    return {
        f"{record['fault']} on {record['target']} {record['direction']}, {record['flow']} PSN {record['psn']:#08x}"
        for record in history
        if record["event"] == "FaultStruck"
        and record["occurrence"] == 1
        and record["kind"] != "link_down"
        and record["opcode"] in OPCODES
        and OPCODES[record["opcode"]].is_request
    }


def _first_difference(before: list[Record], now: list[Record]) -> list[str]:
    for number, (old, new) in enumerate(zip(before, now, strict=False)):
        if old != new:
            return [f"history differs first in record {number}: {old} before, {new} now"]
    if len(before) != len(now):
        return [f"history has {len(before)} records before, {len(now)} now"]
    return []
