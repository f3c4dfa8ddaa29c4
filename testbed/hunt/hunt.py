"""One hunt from its arguments to its summary: what `tb hunt` does, without the command line."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from switch_nodes.kinds import sums
from switch_nodes.own_program import ended_process
from switch_nodes.registry import check_program_file
from testbed.hunt.draw_fabric import FABRIC, RACK
from testbed.hunt.draw_pfc import PFC
from testbed.hunt.guided import run_guided
from testbed.hunt.guided_summary import guided_document
from testbed.hunt.inferred import IN_RINGS, is_card
from testbed.hunt.judge import SAME_TRACED, judge_schedule, run_and_judge
from testbed.hunt.plans import with_timers
from testbed.hunt.protocols import PROTOCOLS, hunted_in, hunted_of
from testbed.hunt.runner import Found, Prey, run_hunt
from testbed.hunt.schedule import Schedule
from testbed.hunt.shrink import shrink
from testbed.hunt.state import GUIDED, RANDOM, Arguments, HuntState
from testbed.hunt.summary import hunt_document
from testbed.hunt.survival import RESERVE, allowance_ns, travel_ns
from testbed.kernel.apart import Ended, run_apart
from testbed.reading.units import format_duration
from testbed.report.document import to_json
from testbed.runs.codeversion import program_version
from testbed.scenario import Scenario, dump_scenario, load_scenario
from testbed.scenario.own_program import PROGRAM_KEY, code_words, is_own_program, with_stock_code
from testbed.scenario.protocols.known import names_where, protocol_of
from testbed.scenario.protocols.names import RECOVERIES
from testbed.scenario.protocols.own_code import is_in_file
from testbed.scenario.protocols.own_protocol import PROTOCOL_KEY
from testbed.scenario.protocols.protocol import KnownProtocol
from testbed.terminal.shellwords import shell_words
from testbed.worlds.base import SIMULATED_LIBRARIES, code_that_ran
from workloads.errors import ScenarioError
from workloads.rc.recovery import rto_ns

__all__ = ["HuntEnd", "HuntTask", "kind_of_hunt", "prepare"]

_RECOVERY_KEY = "transport.recovery"


@dataclass(frozen=True, slots=True)
class HuntEnd:
    document: dict[str, Any]
    """summary.json"""
    folder: Path

    @property
    def exit_code(self) -> int:
        return 0 if self.document["verdict"] == "pass" else 1


@dataclass(frozen=True, slots=True)
class HuntTask:
    name: str
    prey: Prey
    arguments: Arguments
    code: str
    """version that hunts"""
    folder: Path

    def run(self, jobs: int, hear: Callable[[int, int, int], None] = lambda done, before, anew: None) -> HuntEnd:
        """Run the hunt. Raises ScenarioError when the folder is not this hunt's.

        `hear` takes three numbers: schedules done, those done before this call, and those that are hunted again because
        other code did them.
        """
        state = HuntState(self.folder, self.arguments, self.code)
        try:
            before = sum(chunk.count for chunk in state.done.values())
            corpus = None
            if self.arguments.search == GUIDED:
                found, corpus = run_guided(self.prey, jobs, state, lambda done: hear(done, before, state.anew))
            else:
                found = run_hunt(self.prey, jobs, state, lambda done: hear(done, before, state.anew))
            kept = state.kept_failure(found.number)
            failure = None if found.failure is None else kept or self._shrink(state, found)
        finally:
            state.close()
        document = hunt_document(
            self.name,
            self.prey.seed,
            self.prey.schedules,
            found.coverage,
            {self.code: found.coverage.schedules},
            failure,
            self.prey.hunted,
            self.prey.program if is_own_program(self.prey.program) else "",
        )
        if corpus is not None:
            document["guided"] = guided_document(corpus, self.prey.hunted)
        document["ran"] = code_that_ran(*SIMULATED_LIBRARIES)["code"]
        state.write("summary.json", to_json(document))
        return HuntEnd(document, self.folder)

    def _shrink(self, state: HuntState, found: Found) -> dict[str, Any]:
        assert found.number is not None
        assert found.failure is not None
        prey, check = self.prey, found.failure.check
        scenario = found.scenario or prey.schedule(found.number).scenario

        def still_fails(candidate: Scenario) -> bool:
            if check == SAME_TRACED:
                failure, _ = judge_schedule(Schedule(0, candidate))
            else:
                failure, _ = run_and_judge(candidate)
            return failure is not None and failure.check == check

        shrunk = shrink(scenario, still_fails)
        failure, _ = judge_schedule(Schedule(0, shrunk.scenario))
        detail = found.failure.detail if failure is None else failure.detail
        written = with_stock_code(shrunk.scenario)
        guided = "guided-" if self.arguments.search == GUIDED else ""
        written = replace(
            written, name=f"hunted-{guided}{prey.seed}-{found.number}", description=f"Breaks {check}: {detail}"
        )
        file = state.write(f"failure-{found.number}.yaml", dump_scenario(written))
        words = ["./tb", "run", _shown(file), "--world", "simulated", *code_words(shrunk.scenario)]
        document = {
            "number": found.number, "check": check, "detail": detail, "file": _shown(file),
            "replay": shell_words(words), "tries": shrunk.tries, "minimal": shrunk.minimal,
        }  # fmt: skip
        state.keep_failure(document)
        return document


def prepare(
    scenario: str | None, overrides: list[str], seed: int, schedules: int, out: Path | None = None, kind: str = RACK,
    search: str = RANDOM,
) -> HuntTask:  # fmt: skip
    """Prepare a hunt. `kind`: as `kind_of_hunt` returns it; `search`: random or guided. Raises ScenarioError for what
    cannot be hunted in."""
    recovery = ""
    if kind == PFC and search == GUIDED:
        raise ScenarioError(
            "PFC is drawn around random schedules", file="--pfc", found="--guided", allowed="--pfc, or --guided"
        )
    if scenario is None:
        drawn, kind = _without_protocol(overrides, kind)
        drawn, recovery = _without_recovery(drawn, kind)
        hunted = hunted_of(kind)
        program, base = _program_of(drawn, IN_RINGS if hunted is None else hunted.program), None
        kept = (
            f"{IN_RINGS} {kind} {recovery}".strip() if hunted is None else _own_name(kind) if is_in_file(kind) else kind
        )
    elif hunted_of(kind) is not None:
        raise ScenarioError(
            "a scenario has its protocol already",
            file="--protocol",
            found=scenario,
            allowed="--protocol, or a SCENARIO",
        )
    elif kind != RACK:
        option = f"--{kind}"
        raise ScenarioError(
            "a scenario has its topology already", file=option, found=scenario, allowed=f"{option}, or a SCENARIO"
        )
    else:
        base = load_scenario(scenario, overrides, world="simulated")
        base = with_timers(base)
        _check_base(base)
        program, kept = base.switch.program, base.name
    try:
        run_apart(lambda tell: check_program_file(program))
    except Ended as end:
        raise ended_process(program, end.status) from end
    print_of = hashlib.sha256((dump_scenario(base) if base else "").encode() + b"\0").hexdigest()
    prey = Prey(seed, schedules, base, program, kind, recovery)
    prey.schedule(0)
    arguments = Arguments(scenario or "", tuple(overrides), seed, schedules, print_of, kind, search)
    own = f"-{_own_name(program)}" if is_own_program(program) else ""
    how = "" if search == RANDOM else f"-{search}"
    folder = out or Path("hunts") / f"{kept.replace(' ', '-')}{own}{how}-{seed}-{schedules}"
    return HuntTask(
        f"{'Hunt' if search == RANDOM else 'Guided hunt'} in {kept}{own}",
        prey,
        arguments,
        program_version(program),
        folder,
    )


def _own_name(program: str) -> str:
    """Of `path.py:Class`: both, and a few digits of where the file lies, so that classes of one name in different files
    do not share a folder."""
    path, _, name = program.rpartition(":")
    place = hashlib.sha256(os.fsencode(Path(path).resolve())).hexdigest()[:6]
    return f"{Path(path).stem}-{name}-{place}"


def kind_of_hunt(protocol: str, place: str = RACK) -> str:
    """`protocol`: what is hunted in where no scenario says it. `place`: rack, fabric or pfc. Raises ScenarioError."""
    in_rings = names_where(_is_hunted_in_rings)
    if protocol in in_rings:
        return place
    if protocol not in PROTOCOLS:
        raise ScenarioError(
            "nothing is drawn for that protocol", file="--protocol", found=repr(protocol),
            allowed=", ".join((IN_RINGS, *PROTOCOLS)),
        )  # fmt: skip
    if place != RACK:
        raise ScenarioError(
            f"draws {'fabrics' if place == FABRIC else 'PFC'} for NetReduce", file=f"--{place}",
            found=f"--protocol {protocol}",
            allowed=f"without --protocol, or --protocol {IN_RINGS}",
        )  # fmt: skip
    return protocol


def _is_hunted_in_rings(protocol: KnownProtocol) -> bool:
    """Until when a ring of connections must have ended is worked out where switches sum its messages."""
    return protocol.message_window(1, 1) is not None and protocol.repairs_losses() and protocol.result().is_sum


def _without_protocol(overrides: list[str], kind: str) -> tuple[list[str], str]:
    """What is hunted in is a protocol of the user's own, where he names one. Raises ScenarioError."""
    rest = []
    for override in overrides:
        key, _, value = override.partition("=")
        if key.strip() != PROTOCOL_KEY:
            rest.append(override)
            continue
        kind = value.strip()
        if not is_in_file(kind) or hunted_of(kind) is None:
            raise ScenarioError(
                "no schedule is drawn for that protocol", file="--set", key=PROTOCOL_KEY, found=repr(kind),
                allowed="PATH.py:NAME of a protocol with a Hunt; a built-in one is given by --protocol",
            )  # fmt: skip
    return rest, kind


def _without_recovery(overrides: list[str], kind: str) -> tuple[list[str], str]:
    """The recovery of all rings, where it is fixed; else empty. Raises ScenarioError."""
    rest, recovery = [], ""
    for override in overrides:
        key, _, value = override.partition("=")
        if key.strip() != _RECOVERY_KEY:
            rest.append(override)
            continue
        recovery = value.strip()
        if kind not in (RACK, FABRIC, PFC) or recovery not in RECOVERIES:
            raise ScenarioError(
                "no schedule is drawn for that recovery", file="--set", key=_RECOVERY_KEY, found=repr(recovery),
                allowed=f"{', '.join(RECOVERIES)}, where rings of NetReduce are drawn",
            )  # fmt: skip
    return rest, recovery


def _program_of(overrides: list[str], program: str) -> str:
    stock = program
    for override in overrides:
        key, _, value = override.partition("=")
        if key.strip() != PROGRAM_KEY:
            raise ScenarioError(
                "a hunt without a scenario draws everything but code of your own", file="--set", found=repr(override),
                allowed=f"{PROGRAM_KEY}=PATH.py:CLASS, {PROTOCOL_KEY}=PATH.py:NAME, {_RECOVERY_KEY}=RECOVERY, or "
                "give a SCENARIO",
            )  # fmt: skip
        program = value.strip()
    if program != stock and not is_own_program(program) and not (stock == IN_RINGS and is_card(program)):
        raise ScenarioError(
            "a hunt needs a program that sums", file="--set", key=PROGRAM_KEY, found=repr(program),
            allowed=f"{stock}, or PATH.py:CLASS",
        )  # fmt: skip
    return program


def _check_base(base: Scenario) -> None:
    """A hunt needs sums to judge, and a budget that outlasts faults."""

    def refuse(problem: str, key: str, found: str, allowed: str) -> ScenarioError:
        return ScenarioError(f"cannot be hunted in: {problem}", file=base.source, key=key, found=found, allowed=allowed)

    if base.beside:
        found = " + ".join(part.job.protocol for part in base.parts)
        raise refuse("schedules are drawn for one protocol", "beside", found, "the jobs of one protocol")
    hunted = hunted_in(base)
    if hunted is None and not _is_hunted_in_rings(protocol_of(base.job.protocol)):
        raise refuse(
            "until when its jobs must have ended is not worked out", "job.protocol", base.job.protocol,
            ", ".join((IN_RINGS, *PROTOCOLS)),
        )  # fmt: skip
    needed = IN_RINGS if hunted is None else hunted.program
    if sums(needed) and not sums(base.switch.program):
        allowed = "a program that aggregates"
        raise refuse("nothing is aggregated, so no sum can be wrong", PROGRAM_KEY, base.switch.program, allowed)
    if base.expect != "pass":
        raise refuse("it is made to show something else than a pass", "expect", base.expect, "pass")
    if base.job.workload == "digits" or base.job.file is not None:
        allowed, found = "synthetic, extreme, special", base.job.workload if base.job.file is None else "a file"
        raise refuse("its messages do not follow from the scenario", "job.workload", found, allowed)
    if not protocol_of(base.job.protocol).repairs_losses():
        return  # it sends again for ever, and gets the time limit that this may take
    transport = base.transport
    rto = rto_ns(transport.chosen_timeout_code)
    if rto is None:
        raise refuse("no timeout is set, so one lost packet may stop it", "transport.timeout", "0", "1 to 31")
    calm = replace(base, faults=())
    if travel_ns(calm) > rto:
        raise refuse(
            f"a full window takes up to {format_duration(travel_ns(calm))} there and back, more than the timeout "
            f"of {format_duration(rto)}: timeouts would expire without any fault",
            "transport.timeout", str(transport.timeout_code), "a larger one, a smaller window or faster links",
        )  # fmt: skip
    if not allowance_ns(calm):
        raise refuse(
            "its retries do not outlast recovery, which may take three of them or more", "transport.retry_count",
            str(transport.retry_count), f"{RESERVE + 1} to 7, or a larger timeout",
        )  # fmt: skip


def _shown(path: Path) -> str:
    try:
        return str(path.resolve().relative_to(Path.cwd()))
    except ValueError:
        return str(path)
