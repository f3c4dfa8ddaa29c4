"""Targets by the words of a command line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from switch_nodes.kinds import sums
from testbed.fingerprint.reducer import Reducer
from testbed.plan import make_plan
from testbed.reading.problems import closest
from testbed.scenario import load_scenario
from testbed.scenario.builtin import builtin_names
from testbed.scenario.model import Scenario
from testbed.scenario.own_program import PROGRAM_KEY
from testbed.scenario.protocols.known import programs, protocol_of, protocols
from testbed.scenario.protocols.named import protocol_names
from testbed.scenario.protocols.own_code import is_in_file
from testbed.scenario.protocols.own_protocol import PROTOCOL_KEY
from workloads.errors import ScenarioError

__all__ = ["FORMS", "TargetOptions", "open_target"]

_COMMAND, _TORCH = "command:", "torch:"
FORMS = "a switch program, a protocol, a scenario, FILE.py:CLASS, torch:BACKEND, or command:WORDS with {in} and {out}"
_RANKS = 4


@dataclass(frozen=True, slots=True)
class TargetOptions:
    """What was said in addition to the target; None: nothing."""

    elements: int
    timeout_s: float
    scenario: str | None = None
    overrides: tuple[str, ...] = ()
    seed: int | None = None
    ranks: int | None = None
    dtype: str | None = None


@contextmanager
def open_target(target: str, options: TargetOptions) -> Iterator[Reducer]:
    """Raises ScenarioError for a target that is none, or an option that means nothing for it."""
    if target.startswith(_COMMAND):
        from testbed.fingerprint.targets.command import CommandReducer

        _refuse_options(options, target, scenario=True)
        ranks, dtype = options.ranks or _RANKS, options.dtype or "float32"
        yield CommandReducer(target.removeprefix(_COMMAND), ranks, options.elements, dtype, options.timeout_s)
    elif target.startswith(_TORCH):
        with _torch(target.removeprefix(_TORCH), options) as reducer:
            yield reducer
    else:
        from testbed.fingerprint.targets.scenario import ScenarioReducer

        _refuse_options(options, target, ranks="--set topology.hosts=N", dtype="--set job.dtype=int32")
        name, changes = _scenario_of(target, options)
        yield ScenarioReducer(name, (*changes, *options.overrides), options.seed, options.elements)


@contextmanager
def _torch(backend: str, options: TargetOptions) -> Iterator[Reducer]:
    from testbed.fingerprint.targets.torch_ranks import OWN_BACKEND, TorchReducer

    ranks, dtype, scenario = options.ranks or _RANKS, options.dtype or "float32", list[str]()
    if backend == OWN_BACKEND:
        _refuse_options(options, f"torch:{backend}", ranks="--set topology.hosts=N")
        name = options.scenario or "rack"
        ranks = len(make_plan(load_scenario(name, options.overrides, options.seed, "simulated")).workers)
        seed = [] if options.seed is None else ["--seed", str(options.seed)]
        scenario = [name, *(word for change in options.overrides for word in ("--set", change)), *seed]
    else:
        _refuse_options(options, f"torch:{backend}", scenario=True)
    with TorchReducer(backend, ranks, options.elements, dtype, options.timeout_s, scenario) as reducer:
        yield reducer


def _refuse_options(
    options: TargetOptions, target: str, *, scenario: bool = False, ranks: str = "", dtype: str = ""
) -> None:
    """`scenario`: whether the target has none; `ranks`, `dtype`: what to write instead."""
    wrong = (
        ("--scenario", options.scenario, scenario, "no network: omit it"),
        ("--set", ", ".join(options.overrides) or None, scenario, "no network: omit it"),
        ("--seed", options.seed, scenario, "no network: omit it"),
        ("--ranks", options.ranks, bool(ranks), ranks),
        ("--dtype", options.dtype, bool(dtype), dtype),
    )
    for key, found, is_wrong, allowed in wrong:
        if is_wrong and found is not None:
            raise ScenarioError(
                f"means nothing for {target.split()[0]}", file="tb fingerprint", key=key, found=str(found),
                allowed=allowed,
            )  # fmt: skip


def _scenario_of(target: str, options: TargetOptions) -> tuple[str, Sequence[str]]:
    if is_in_file(target):
        return options.scenario or "rack", (f"{PROGRAM_KEY}={target}",)
    if options.scenario is not None:
        raise ScenarioError(
            f"means nothing for {target}", file="tb fingerprint", key="--scenario", found=options.scenario,
            allowed="with FILE.py:CLASS or torch:ina",
        )  # fmt: skip
    if target in builtin_names() or "/" in target or target.endswith((".yaml", ".yml")):
        return target, ()
    if target in protocol_names():
        return _of_protocol(target)
    if sums(target):
        for protocol in protocols():
            if target in protocol.programs:
                name, changes = _of_protocol(protocol.name)
                return name, (*changes, f"{PROGRAM_KEY}={target}")
    raise ScenarioError(
        "no such target", file="tb fingerprint", key="TARGET", found=repr(target), allowed=FORMS,
        hint=closest(target, (*builtin_names(), *protocol_names(), *programs)),
    )  # fmt: skip


def _of_protocol(name: str) -> tuple[str, Sequence[str]]:
    """The built-in scenario without faults that has this protocol, and the shortest name; else one whose switches and
    connections serve it, and what is changed of it."""
    protocol = protocol_of(name)
    if (same := name.replace("_", "-")) in builtin_names():
        return same, ()

    def serves(scenario: Scenario) -> bool:
        served = protocol_of(scenario.job.protocol)
        return served.repairs_losses() == protocol.repairs_losses() and scenario.switch.program in protocol.programs

    calm = list[Scenario]()
    for each in sorted(builtin_names(), key=lambda each: (len(each), each)):
        scenario = load_scenario(each)
        if scenario.faults or scenario.world == "lab" or scenario.expect != "pass":
            continue
        if scenario.job.protocol == name:
            return each, ()
        if protocol_of(scenario.job.protocol).job_keys is None:
            calm.append(scenario)
    other = next(filter(serves, calm))
    return other.name, (f"{PROTOCOL_KEY}={name}",)
