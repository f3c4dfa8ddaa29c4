"""`tb replay RUN_DIR`: the same scenario and seed again, here or in another world, and what differs from the first
time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from testbed.faults.events import FaultStruck
from testbed.faults.model import Kill, LinkDown
from testbed.history import Record, read_history
from testbed.plan.contract import planned_protocol
from testbed.reading.sections import names_of
from testbed.runs.kepthistory import KeptHistory, load_history
from testbed.runs.run import Observer, RunResult, read_result, run_scenario
from testbed.scenario import Scenario, load_scenario
from testbed.scenario.own_program import CODE_KEYS, PROGRAM_KEY, set_words
from testbed.scenario.protocols.known import protocol_of
from testbed.scenario.protocols.own_code import is_in_file
from testbed.scenario.protocols.own_protocol import PROTOCOL_KEY
from testbed.terminal.shellwords import shell_words
from testbed.terminal.words import amount
from testbed.worlds.base import World
from topologies import Direction, Topology, format_ip
from workloads.errors import ScenarioError
from workloads.events import CollectiveCompleted
from workloads.rc.words import is_request

__all__ = ["Recorded", "ReplayComparison", "compare", "read_run", "replay", "why_bytes_depend_on_time"]


@dataclass(frozen=True, slots=True)
class ReplayComparison:
    """What must be equal in every world: results, verdict, and the faults that hit each first transmission of data
    whose bytes do not depend on time.

    What comes after a loss depends on time: which retransmissions exist, which ACKs were coalesced. Only the simulated
    world repeats it, so that there the whole history is compared.
    """

    result: RunResult
    differences: tuple[str, ...]
    compared: tuple[str, ...]
    """what was compared, with counts"""

    @property
    def exit_code(self) -> int:
        """1 when something differs; else that of the new run."""
        return 1 if self.differences else self.result.exit_code


@dataclass(frozen=True, slots=True)
class Recorded:
    """A finished run, read again."""

    scenario: Scenario
    """what a replay runs"""
    verdict: str
    world: str
    """in which it ran: that of the scenario unless another one was asked for"""
    history: KeptHistory


def read_run(run_dir: Path, world: str | None = None, overrides: Sequence[str] = ()) -> Recorded:
    """`world`: another one than that of the run; `overrides`: `switch.program=...`, `job.protocol=...` or nothing; a
    run with code of the user's own needs them, since a file cannot name code. Raises ScenarioError when `run_dir` is no
    finished run, or a file in it is damaged. A history that is cut does not raise it: the comparison shows what is
    missing."""
    for override in overrides:
        if not _is_of_code(override, overrides):
            raise ScenarioError(
                "a replay changes nothing but the switch program and the protocol", file="--set", found=repr(override),
                allowed=f"{PROGRAM_KEY}=PATH.py:CLASS, {PROTOCOL_KEY}=PATH.py:NAME, or `tb run "
                        f"{run_dir}/scenario.yaml` with what "
                "is to change",
            )  # fmt: skip
    document, given = read_result(run_dir), [override.partition("=")[0].strip() for override in overrides]
    for what, key, name in (("program", PROGRAM_KEY, "program"), ("protocol", PROTOCOL_KEY, "protocol")):
        found = str(document.get(name, ""))
        if is_in_file(found) and key not in given:
            raise ScenarioError(
                f"ran with a {what} of your own, which only a command line can name", file=str(run_dir), key=key,
                found=found, allowed=f"with {shell_words(set_words(key, found))}",
            )  # fmt: skip
    scenario = load_scenario(str(run_dir / "scenario.yaml"), overrides, world=world)
    return Recorded(scenario, document["verdict"], document["world"], load_history(run_dir))


def _is_of_code(override: str, overrides: Sequence[str]) -> bool:
    """Whether it names code, or sets a key that only a protocol of the user's own has."""
    key, _, _ = override.partition("=")
    own = [
        value.strip() for name, _, value in (each.partition("=") for each in overrides) if name.strip() == PROTOCOL_KEY
    ]
    keys = protocol_of(own[-1]).job_keys if own and is_in_file(own[-1]) else None
    return key.strip() in CODE_KEYS or (keys is not None and key.strip() in {f"job.{name}" for name in names_of(keys)})


def replay(
    before: Recorded, out: Path | None = None, observer: Observer | None = None, realised: World | None = None
) -> ReplayComparison:
    """`realised`: the world, where its name does not say all. Raises as `run_scenario`."""
    result = run_scenario(before.scenario, out, observer=observer, world=realised)
    same = before.scenario.world if before.scenario.world == before.world else ""
    return compare(before.verdict, before.history.records, result, same, before.history.cut)


def compare(verdict: str, history: list[Record], result: RunResult, world: str, cut: str = "") -> ReplayComparison:
    """`verdict`, `history`: of the run before; `cut`: where that history ends too early. `world`: of both runs; empty
    when they are of two."""
    differences = [f"{cut} (of the run before)"] if cut else []
    # Both from their files: JSON knows no tuples.
    fresh = list(read_history(result.run_dir / "history.jsonl"))
    if verdict != result.document["verdict"]:
        differences.append(f"verdict: {verdict} before, {result.document['verdict']} now")
    digests, fresh_digests = _digests(history), _digests(fresh)
    for key in sorted(digests.keys() | fresh_digests.keys()):
        if digests.get(key) != fresh_digests.get(key):
            how = "not the same bytes" if key in digests and key in fresh_digests else "there before, missing now"
            how = how if key in digests else "missing in the history of the run before"
            differences.append(f"result of {key[0]}, iteration {key[1]}: {how}")
    scenario = load_scenario(str(result.run_dir / "scenario.yaml"))
    reason = "" if world == "simulated" else why_bytes_depend_on_time(scenario)
    struck, fresh_struck = (set() if reason else _data_strikes(each, scenario.topology) for each in (history, fresh))
    differences += [f"hit before, not now: {item}" for item in sorted(struck - fresh_struck)]
    differences += [f"hit now, not before: {item}" for item in sorted(fresh_struck - struck)]
    compared = [
        f"{len(digests.keys() & fresh_digests.keys())} results",
        f"no hits, since {reason}" if reason else f"{amount(len(struck), 'hit')} on first transmissions of data",
    ]
    if world == "simulated":
        compared.append(f"{len(history)} records of history")
        differences += _first_difference(history, fresh)
    return ReplayComparison(result, tuple(differences), tuple(compared))


def _digests(history: Iterable[Record]) -> dict[tuple[str, int], str]:
    return {
        (record.node, record.event.iteration): record.event.sha256
        for record in history
        if isinstance(record.event, CollectiveCompleted)
    }


def why_bytes_depend_on_time(scenario: Scenario) -> str:
    """Why the faults that hit a first transmission may differ between two runs in real time, since its bytes do. Empty:
    they may not."""
    whys = map(_why_of_part, scenario.parts)
    return next(filter(None, whys), "")


def _why_of_part(scenario: Scenario) -> str:
    routing = scenario.routing
    if why := planned_protocol(scenario.job.protocol).why_bytes_depend_on_time(scenario):
        return why
    if routing is not None and any(isinstance(fault, LinkDown | Kill) for fault in scenario.faults):
        return "packets carry what their route asks for, and routes are planned again meanwhile"
    return ""


def _data_strikes(history: Iterable[Record], topology: Topology) -> set[str]:
    """On first transmissions of data: by PSN, or by the packet of a job on the link of the host that sent it."""
    return {
        f"{record.event.fault} on {record.event.target} {record.event.direction}, {name}"
        for record in history
        if isinstance(record.event, FaultStruck)
        and record.event.occurrence == 1
        and record.event.kind != "link_down"
        and (name := _first_of_data(record.event, topology))
    }


def _first_of_data(struck: FaultStruck, topology: Topology) -> str:
    """Name of the packet; empty where it is no data, or one that its sender sends again, or somebody else's by then."""
    is_data = is_request(struck.opcode)
    if is_data is not None:
        return f"{struck.flow} PSN {struck.psn:#08x}" if is_data else ""
    what, _, rest = struck.packet.partition(" ")
    if what != "data" or rest.startswith("again "):
        return ""
    link = topology.link(struck.target)
    sender = topology.node(link.a if struck.direction == str(Direction.UP) else link.b)
    return f"{what} {rest}" if rest.startswith(f"{format_ip(sender.ip)}>") else ""


def _first_difference(before: list[Record], now: list[Record]) -> list[str]:
    for number, (old, new) in enumerate(zip(before, now, strict=False)):
        if old != new:
            return [f"history differs first in record {number}: {old} before, {new} now"]
    if len(before) != len(now):
        return [f"history has {len(before)} records before, {len(now)} now"]
    return []
