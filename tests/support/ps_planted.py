"""Planted bugs of the plain parameter server for the hunter: broken switches, broken servers, broken workers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from switch_nodes.aggregators.core import AggregatorProgram
from switch_nodes.aggregators.entrance import Entrance
from switch_nodes.aggregators.judge import SlotJudge
from switch_nodes.aggregators.packets import Arrival
from switch_nodes.config import SwitchConfig
from switch_nodes.ps import PsProgram
from testbed.hunt.judge import Machines
from testbed.worlds.simulated import make_worker
from tests.support.aggregator_levels import LEVEL_MUTANTS
from tests.support.aggregator_more_mutants import MORE_MUTANTS
from tests.support.aggregator_mutants import MUTANTS
from tests.support.server_mutants import MUTANTS as SERVER_MUTANTS
from workloads.config import HostConfig
from workloads.server import ServerConfig
from workloads.server.held import HeldBack
from workloads.server.job import JobServer

__all__ = ["PS_PLANTED"]


class AddsUnasked(PsProgram):
    """A switch that should only copy results adds packets, though nobody told it who is at other switches."""

    def __init__(self, config: SwitchConfig) -> None:
        super().__init__(config)
        self._entrance = _Doubling(self.served, self.policy)

    def add(self, a: Arrival) -> Any:
        slot = super().add(a)
        if not a.served.config.adds:
            slot.add(a.found, a.congested)
        return slot


class _Doubling(Entrance):
    def admit(self, port: int, frame: Any, found: Any) -> Any:
        served = self.served.get(found.header.job)
        if served is not None and not served.config.adds:
            object.__setattr__(served.config, "adds", True)
            try:
                return super().admit(port, frame, found)
            finally:
                object.__setattr__(served.config, "adds", False)
        return super().admit(port, frame, found)


class HoldsForEver(JobServer):
    """Sums of an iteration that wait for the others are not given to those who ask, and the last one frees none."""

    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        if self._job.gradient_blocks:
            self._held = HeldBack(1 << 32)

    def replay(self, *arguments: Any) -> None:
        if not self._job.gradient_blocks:
            super().replay(*arguments)


def _switch(mutant: type[AggregatorProgram] | type[SlotJudge]) -> Machines:
    if issubclass(mutant, SlotJudge):
        return Machines(create=type("Broken", (PsProgram,), {"judge_class": mutant}))
    return Machines(create=type("Broken", (mutant, PsProgram), {}))


def _server(make: Callable[..., JobServer]) -> Machines:
    def employ(config: HostConfig | ServerConfig, start_ns: int) -> Any:
        machine: Any = make_worker(config, start_ns)
        if isinstance(config, ServerConfig):
            machine._jobs = {
                job.job: make(job, config.envelope.src_ip, asks_again=config.lives > 0, trace=config.trace)
                for job in config.jobs
            }
        return machine

    return Machines(employ=employ)


_SWITCHES = (
    "ResendAllocates", "ResendAddsTwice", "ResendKeepsTheSlot", "FreesOnEveryResult", "FreesForAnyJob", "NeverFrees",
    "CountsPackets", "FreesBeforeTheResult", "ReclaimsNothing", "OneSlotForAll", "LastExponents",
)  # fmt: skip
_SERVERS = ("partial merged twice", "overlapping partial added", "whole sum added", "results not kept", "blocks mixed")
_OF_ATP = {mutant.__name__: mutant for mutant in (*MUTANTS, *LEVEL_MUTANTS, *MORE_MUTANTS)}
PS_PLANTED: Mapping[str, Machines] = {
    **{name: _switch(_OF_ATP[name]) for name in _SWITCHES},
    **{name: _server(SERVER_MUTANTS[name].make) for name in _SERVERS},
    "AddsUnasked": Machines(create=AddsUnasked),
    "HoldsForEver": _server(HoldsForEver),
}
