"""The driver of hosts: what is asked of them and of their agents."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from testbed.lab.agent.facts import HostFacts
from testbed.lab.agent.leases import MAX_SECONDS
from testbed.lab.agent.operations import HOST, card_resource
from testbed.lab.agent.requests import (
    AttachGuard,
    BreakLease,
    ClearHost,
    DetachGuard,
    EndProcesses,
    PrepareProcess,
    ReleaseLease,
    RemoveRun,
    Request,
    StartProcesses,
    TakeLease,
    WhichCode,
)
from testbed.lab.checks import host_problems
from testbed.lab.drivers.collecting import collect_files
from testbed.lab.drivers.deploying import deploy_package, script
from testbed.lab.drivers.power import POWER_TIMEOUT_S, run_here
from testbed.lab.drivers.step import Driver, step
from testbed.lab.lab import StepDone
from testbed.lab.model import Host
from testbed.lab.package import Package, build_package
from workloads.codec import PLAIN
from workloads.datagrams.transport import DATAGRAMS
from workloads.errors import LabError
from workloads.rc.transport import RELIABLE

__all__ = ["HostDriver"]

_PORTS = (RELIABLE.udp_port, DATAGRAMS.udp_port)
_FACTS_S = 20.0
_BUILD_S = 300.0
"""the first process there compiles the C core"""


class HostDriver(Driver):
    @step(
        "OS, interfaces, MTU, clock, disk and versions of hosts",
        would=("run {python} with testbed/lab/agent/facts.py on stdin",), changes=False, command=True, task=True,
    )  # fmt: skip
    def check(self, host: Host, *, needs_version: bool = True) -> StepDone:
        """Facts; `needs_version` False: any version, or none, will do. Raises LabError with all that is wrong with the
        host."""
        version = build_package().version if needs_version else None
        shell = self.lab.shell(host)
        devices = [interface.device for interface in host.interfaces]
        limit = min(_FACTS_S, host.command_timeout_s)
        sent = time.time()
        text = shell.run([host.python, "-", host.base, *devices], stdin=script("facts.py"), timeout_s=limit).text
        came = time.time()
        try:
            facts = PLAIN.decode(HostFacts, json.loads(text))
        except ValueError:
            raise LabError(host.name, "does not tell facts about itself", text[:500]) from None
        # It looked at its clock somewhere in between.
        offset = facts.clock - came if facts.clock > came else min(0.0, facts.clock - sent)
        problems = host_problems(host, facts, offset_s=offset, version=version)
        if problems:
            raise LabError(host.name, "; ".join(problems))
        about = f"{facts.os}, kernel {facts.kernel}, Python {facts.python}, {facts.cpus} CPUs"
        return StepDone(facts, about, changed=False)

    @step(
        "this package and its agent to hosts",
        would=("send package {version} to {base}/packages", "unpack it to {base}/deploy/{version}", "start its agent"),
        command=True, task=True,
    )  # fmt: skip
    def deploy(self, host: Host, *, package: Package | None = None) -> StepDone:
        """This package by its content. What is there already is left alone."""
        return deploy_package(self.lab, host, package or build_package())

    @step(
        "leases, cards and runs of hosts",
        would=("ask the agent at {socket}: hello",), needs=("deploy",), changes=False, command=True,
    )  # fmt: skip
    def status(self, host: Host) -> StepDone:
        found = self.lab.agent(host).hello()
        leases = [f"{item.resource} leased by {item.owner}" for item in found.leases]
        cards = [f"card {card.card} {card.state}" for card in found.cards]
        runs = [f"runs {name}" for name in found.running]
        return StepDone(found, "; ".join([*leases, *cards, *runs]) or "free", changed=False)

    def held(self) -> frozenset[str]:
        """Names of hosts that we have leased by `tb lab lease`: what is done there for a while must not end that."""
        return frozenset(
            name
            for name, state in self.status().items()
            if any(lease.owner == self.lab.owner.name and not lease.purpose for lease in state.leases)
        )

    @step(
        "hosts and their cards for you alone, for --time",
        would=("ask the agent at {socket}: lease",), needs=("deploy",), undone_by="release", all_or_none=True,
        command=True,
    )  # fmt: skip
    def lease(self, host: Host, *, seconds: float, purpose: str = "") -> StepDone:
        """Everything on the host, for so long from now; renewed when it is ours. All of it, or nothing of it. With a
        purpose, what a killed client left there is ended."""
        agent, got, seconds = self.lab.agent(host), list[str](), min(seconds, MAX_SECONDS)
        try:
            for resource in self._resources(host):
                token = self._token(host, resource)
                agent.ask(TakeLease(resource, self.lab.owner.name, token, seconds, purpose))
                got.append(resource)
        except LabError:
            for resource in got:
                agent.ask(ReleaseLease(resource, self._token(host, resource)))
            raise
        left = agent.ask(ClearHost(self._token(host))) if purpose else ()
        more = f"; ended {', '.join(left)}, which was left there" if left else ""
        return StepDone(got, f"{', '.join(got)} for {seconds:g} s{more}")

    @step(
        "give them back; --break: also leases of other users",
        would=("ask the agent at {socket}: release, or break",), needs=("deploy",), command=True,
    )  # fmt: skip
    def release(self, host: Host) -> StepDone:
        """Ours only; with it ends what lives by it."""
        ended, found = list[str](), []
        for resource in self._resources(host):
            over = self.lab.agent(host).ask(ReleaseLease(resource, self._token(host, resource)))
            if over is not None:
                found.append(resource)
                ended += over.ended
        more = f"; ended {', '.join(ended)}" if ended else ""
        return StepDone(found, (", ".join(found) or "nothing was leased") + more, changed=bool(found))

    @step("give them back, also leases of other users; says whose", name="break", needs=("deploy",))
    def break_leases(self, host: Host) -> StepDone:
        ended = []
        for resource in self._resources(host):
            over = self.lab.agent(host).ask(BreakLease(resource))
            if over is not None:
                ended.append(f"{resource} was leased by {over.owner}")
        return StepDone(ended, "; ".join(ended) or "nothing was leased", changed=bool(ended))

    @step("which code processes of a run are there", needs=("deploy",), changes=False)
    def code(self, host: Host, *, libraries: Sequence[str]) -> StepDone:
        """Version of this package, of Python, and whether these libraries of the C core run."""
        found = self.lab.agent(host).ask(WhichCode(tuple(libraries)), timeout_s=_BUILD_S)
        return StepDone(found, f"{found.code}, version {found.version}, Python {found.python}", changed=False)

    @step(
        "keep kernels out of RoCE on an interface", needs=("lease",), undone_by="detach", undone_with="lease", task=True
    )
    def attach(self, host: Host, *, label: str = "data", mtu: int = 1500, ports: Sequence[int] = _PORTS) -> StepDone:
        """MAC and address of the interface, whose kernel then keeps away from these UDP ports."""
        device = host.interface(label).device
        facts = self.lab.agent(host).ask(AttachGuard(device, mtu, tuple(ports), self._token(host)))
        return StepDone(facts, f"{device} {facts.mac} {facts.address or 'without an address'}")

    @step("give the interface back to the kernel", needs=("lease",), task=True)
    def detach(self, host: Host, *, label: str = "data") -> StepDone:
        device = host.interface(label).device
        was = self.lab.agent(host).ask(DetachGuard(device, self._token(host)))
        return StepDone(was, device, changed=was)

    @step("start a worker, which waits", needs=("lease", "attach"), undone_by="stop", undone_with="lease")
    def prepare(self, host: Host, *, run: str, name: str, device: str, config: str, capture: bool) -> StepDone:
        dilation = self.lab.inventory.dilation
        return self._asked(
            host, PrepareProcess(run, name, "worker", device, config, self._token(host), capture, dilation)
        )

    @step("workers begin", needs=("prepare",))
    def go(self, host: Host, *, run: str) -> StepDone:
        return self._asked(host, StartProcesses(run, self._token(host)))

    @step("end workers", needs=("lease",))
    def stop(self, host: Host, *, run: str) -> StepDone:
        return self._asked(host, EndProcesses(run, self._token(host)))

    @step("forget the files of a run", needs=("lease",))
    def remove(self, host: Host, *, run: str) -> StepDone:
        return self._asked(host, RemoveRun(run, self._token(host)))

    @step(
        "files of a run from hosts",
        would=("ask the agent at {socket}: files", "fetch them from {base}/runs"),
        needs=("deploy",), changes=False, command=True, task=True,
    )  # fmt: skip
    def collect(self, host: Host, *, run: str, out: Path) -> StepDone:
        """Paths."""
        return collect_files(self.lab, host, run, out)

    @step(
        "switch hosts off and on",
        name="power-cycle", would=("run here: {power}", "connect until it answers"), named=True, command=True,
        task=True,
    )  # fmt: skip
    def power_cycle(self, host: Host) -> StepDone:
        """By the command of the inventory, on this machine; then until it answers again."""
        if host.power is None:
            raise LabError(host.name, "its inventory says not how it is switched (power.cycle)")
        self.lab.forget(host)
        command = run_here(host, host.power.cycle)
        deadline = time.monotonic() + POWER_TIMEOUT_S
        while True:
            try:
                self.lab.shell(host)
                return StepDone(None, f"`{command}`, and it answers")
            except LabError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.2)

    def _resources(self, host: Host) -> tuple[str, ...]:
        cards = [card_resource(card.name) for card in self.lab.inventory.cards.values() if card.host == host.name]
        return (HOST, *cards)

    def _token(self, host: Host, resource: str = HOST) -> str:
        return self.lab.owner.token(host.name, resource)

    def _asked(self, host: Host, request: Request[Any]) -> StepDone:
        return StepDone(self.lab.agent(host).ask(request))
