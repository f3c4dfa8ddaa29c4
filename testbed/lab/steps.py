"""The tasks of a lab, host by host: each does what is not done yet, within its time, and says what it did.

`playbooks/lab` and `tb lab` put them together.
"""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from testbed.lab.agent.leases import MAX_SECONDS
from testbed.lab.agent.operations import HOST, card_resource
from testbed.lab.checks import host_problems
from testbed.lab.client import NoAgent
from testbed.lab.lab import Done, Lab
from testbed.lab.model import Card, Host
from testbed.lab.package import Package, build_package
from testbed.lab.ssh import tail
from testbed.lab.transfer import MAX_FILE, local_name, receive, send
from workloads.errors import LabError

__all__ = [
    "MAX_RUN_BYTES",
    "Done",
    "asked",
    "attach",
    "break_leases",
    "check",
    "code",
    "collect",
    "counters",
    "deploy",
    "detach",
    "lease",
    "on_card",
    "power_cycle",
    "program",
    "release",
    "reset",
    "resources_of",
    "status",
]

MAX_RUN_BYTES = 1 << 30
"""that `collect` fetches of one host"""
_MAX_FILES = 1000
"""of a run on one host"""
_COLLECT_S = 300.0
"""for all files of a run on one host"""
_FACTS_S = 20.0
_BUILD_S = 300.0
"""the first process there compiles the C core"""
_POWER_PATIENCE_S = 60.0
_Act = Callable[[Host], Done]


def _script(name: str) -> bytes:
    return files("testbed.lab.agent").joinpath(name).read_bytes()


def check(lab: Lab, *, needs_version: bool = True) -> _Act:
    """OS, interfaces, MTU, clock, disk, versions. Raises LabError with all that is wrong with the host."""
    version = build_package().version if needs_version else None

    def act(host: Host) -> Done:
        shell = lab.shell(host)
        devices = [interface.device for interface in host.interfaces]
        limit = min(_FACTS_S, host.command_timeout_s)
        sent = time.time()
        text = shell.run([host.python, "-", host.base, *devices], stdin=_script("facts.py"), timeout_s=limit).text
        came = time.time()
        try:
            facts = json.loads(text)
            clock = float(facts["clock"])
        except (ValueError, KeyError, TypeError):
            raise LabError(host.name, "does not tell facts about itself", text[:500]) from None
        # It looked at its clock somewhere in between.
        offset = clock - came if clock > came else min(0.0, clock - sent)
        problems = host_problems(host, facts, offset_s=offset, version=version)
        if problems:
            raise LabError(host.name, "; ".join(problems))
        about = f"{facts['os']}, kernel {facts['kernel']}, Python {facts['python']}, {facts['cpus']} CPUs"
        return Done(facts, about, changed=False)

    return act


def deploy(lab: Lab, package: Package | None = None) -> _Act:
    """This package by its content, and its agent. What is there already is left alone."""
    package = package or build_package()

    def act(host: Host) -> Done:
        shell = lab.shell(host)
        there = shell.run(["readlink", f"{host.base}/current"], check=False).text.strip()
        said = "there"
        if there != f"deploy/{package.version}":
            need = len(package.archive) + 4 * package.size
            free = shell.run(["df", "-P", "-k", host.base], check=False, timeout_s=10.0).text.splitlines()
            if len(free) > 1 and int(free[-1].split()[3]) * 1024 < need:
                have = int(free[-1].split()[3]) >> 10
                raise LabError(
                    host.name, f"its disk is full: {have} MiB free at {host.base}, needed: {(need >> 20) + 1} MiB"
                )
            path = f"{host.base}/packages/{package.version}.tar.gz"
            send(shell, package.archive, path)
            limit = 600.0 if host.packages == "pip" else host.command_timeout_s
            try:
                said = shell.run(
                    [host.python, "-", host.base, package.version, host.packages, *host.pip_options],
                    stdin=_script("install.py"), timeout_s=limit,
                ).text.strip()  # fmt: skip
            finally:
                shell.run(["rm", "-f", path], check=False)
        started = _ensure_agent(lab, host, package.version)
        return Done(
            package.version, f"{package.version}, agent {started}", changed=said != "there" or started != "runs"
        )

    return act


def _ensure_agent(lab: Lab, host: Host, version: str) -> str:
    cards = {
        card.name: {"transport": card.transport, "program_timeout_s": card.program_timeout_s}
        for card in lab.inventory.cards.values()
        if card.host == host.name
    }
    lab.forget_agent(host)
    try:
        found = lab.agent(host).hello()
        if found["version"] == version and {card["card"] for card in found["cards"]} == set(cards):
            return "runs"
        lab.agent(host).ask("quit")
        how = "replaced"
    except NoAgent:
        how = "started"
    lab.forget_agent(host)
    config = json.dumps({"version": version, "cards": cards}).encode()
    argv = [f"{host.base}/current/bin/python", "-P", "-m", "testbed.lab.agent", "serve", host.base]
    deadline = time.monotonic() + 10.0
    while True:
        done = lab.shell(host).run(argv, stdin=config, timeout_s=30.0, check=False)
        if done.status == 0:
            break
        # The old one may still be on its way out.
        if time.monotonic() > deadline or "AlreadyRunning" not in done.stderr.decode(errors="replace"):
            raise LabError(host.name, "its agent does not start", tail(done.stderr))
        time.sleep(0.1)
    lab.agent(host).hello(version)
    return how


def resources_of(lab: Lab, host: Host) -> tuple[str, ...]:
    cards = [card_resource(card.name) for card in lab.inventory.cards.values() if card.host == host.name]
    return (HOST, *cards)


def lease(lab: Lab, seconds: float, purpose: str = "") -> _Act:
    """Everything on the host, for so long from now; renewed when it is ours. All of it, or nothing of it. With a purpose,
    what a killed client left there is ended."""
    seconds = min(seconds, MAX_SECONDS)

    def act(host: Host) -> Done:
        agent, got = lab.agent(host), []
        try:
            for resource in resources_of(lab, host):
                agent.ask(
                    "lease", resource=resource, owner=lab.owner.name, seconds=seconds,
                    token=lab.owner.token(host.name, resource), purpose=purpose,
                )  # fmt: skip
                got.append(resource)
        except LabError:
            for resource in got:
                agent.ask("release", resource=resource, token=lab.owner.token(host.name, resource))
            raise
        left = agent.ask("clear", token=lab.owner.token(host.name, HOST)) if purpose else []
        more = f"; ended {', '.join(left)}, which was left there" if left else ""
        return Done(got, f"{', '.join(got)} for {seconds:g} s{more}")

    return act


def release(lab: Lab) -> _Act:
    """Ours only; with it ends what lives by it."""

    def act(host: Host) -> Done:
        ended, found = [], []
        for resource in resources_of(lab, host):
            over = lab.agent(host).ask("release", resource=resource, token=lab.owner.token(host.name, resource))
            if over is not None:
                found.append(resource)
                ended += over["ended"]
        more = f"; ended {', '.join(ended)}" if ended else ""
        return Done(found, (", ".join(found) or "nothing was leased") + more, changed=bool(found))

    return act


def break_leases(lab: Lab) -> _Act:
    """Whoever's they are; says whose."""

    def act(host: Host) -> Done:
        told = []
        for resource in resources_of(lab, host):
            over = lab.agent(host).ask("break", resource=resource)
            if over is not None:
                told.append(f"{resource} was leased by {over['owner']}")
        return Done(told, "; ".join(told) or "nothing was leased", changed=bool(told))

    return act


def status(lab: Lab) -> _Act:
    def act(host: Host) -> Done:
        found = lab.agent(host).hello()
        leases = [f"{item['resource']} leased by {item['owner']}" for item in found["leases"]]
        cards = [f"card {card['card']} {card['state']}" for card in found["cards"]]
        runs = [f"runs {name}" for name in found["running"]]
        return Done(found, "; ".join([*leases, *cards, *runs]) or "free", changed=False)

    return act


def code(lab: Lab, libraries: Sequence[str]) -> _Act:
    """Which code processes of a run are there: version of the package, of Python, and whether these libraries of the C core run."""

    def act(host: Host) -> Done:
        found = lab.agent(host).ask("code", libraries=list(libraries), timeout_s=_BUILD_S)
        return Done(found, f"{found['code']}, version {found['version']}, Python {found['python']}", changed=False)

    return act


def program(lab: Lab, card: Card, bitstream: bytes, sha256: str) -> _Act:
    """Load it, unless the card says that it runs it. The agent verifies before and after, and goes on when we die."""

    def act(host: Host) -> Done:
        agent = lab.agent(host)
        token = lab.owner.token(host.name, card_resource(card.name))
        found = next(entry for entry in agent.ask("cards") if entry["card"] == card.name)
        detail = f"{card.name} runs {sha256[:12]}"
        if found["state"] == "programmed" and found.get("bitstream") == sha256:
            state = agent.ask("card", card=card.name, token=token, verb="state", timeout_s=30.0)
            if state["bitstream"] == sha256:
                return Done(found, detail, changed=False)
        send(lab.shell(host), bitstream, f"{host.base}/bitstreams/{sha256}.bit")
        limit = card.program_timeout_s + 30.0
        found = agent.ask("program", card=card.name, sha256=sha256, token=token, timeout_s=limit)
        return Done(found, detail)

    return act


def reset(lab: Lab, card: Card) -> _Act:
    def act(host: Host) -> Done:
        token = lab.owner.token(host.name, card_resource(card.name))
        found = lab.agent(host).ask("reset", card=card.name, token=token, timeout_s=30.0)
        return Done(found, f"{card.name} is {found['state']}")

    return act


def collect(lab: Lab, run: str, folder: Path) -> _Act:
    """Files of a run, into FOLDER/HOST-NAME; at most 256 MiB each, 1 GiB, 1000 files and 300 s per host, whatever the host says
    about them."""

    def act(host: Host) -> Done:
        entries = _listing(host, lab.agent(host).ask("files", run=run, timeout_s=60.0))
        deadline, left = time.monotonic() + _COLLECT_S, MAX_RUN_BYTES
        if sum(size for _, size, _ in entries) > left:
            raise LabError(host.name, f"run {run} left more than {left} bytes")
        folder.mkdir(parents=True, exist_ok=True)
        paths = []
        for name, _, sha256 in entries:
            target = folder / f"{host.name}-{name}"
            target.unlink(missing_ok=True)
            limit_s = max(0.1, min(60.0, deadline - time.monotonic()))
            left -= receive(
                lab.shell(host), f"{host.base}/runs/{run}/{name}", target, sha256=sha256,
                most=min(MAX_FILE, left), timeout_s=limit_s,
            )  # fmt: skip
            paths.append(target)
        return Done(paths, f"{len(paths)} files, {MAX_RUN_BYTES - left} bytes")

    return act


def _listing(host: Host, entries: Any) -> list[tuple[str, int, str]]:
    """(name, size, SHA-256) as the host told them. Raises LabError for what is no such thing."""
    if not isinstance(entries, list) or len(entries) > _MAX_FILES:
        raise LabError(host.name, f"does not tell the files of a run, or more than {_MAX_FILES} of them")
    found = []
    for entry in entries:
        if not isinstance(entry, dict):
            raise LabError(host.name, "does not tell the files of a run")
        name = local_name(host.name, entry.get("name"))
        size, sha256 = entry.get("size"), entry.get("sha256")
        if not isinstance(size, int) or size < 0 or not isinstance(sha256, str):
            raise LabError(host.name, f"does not tell size and hash of {name}")
        found.append((name, size, sha256))
    return found


def power_cycle(lab: Lab) -> _Act:
    """By the command of the inventory, on this machine; then until it answers again."""

    def act(host: Host) -> Done:
        if host.power is None:
            raise LabError(host.name, "its inventory says not how it is switched (power.cycle)")
        lab.forget(host)
        command = _local(host, host.power.cycle)
        deadline = time.monotonic() + _POWER_PATIENCE_S
        while True:
            try:
                lab.shell(host)
                return Done(None, f"`{command}`, and it answers")
            except LabError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.2)

    return act


def _local(host: Host, argv: tuple[str, ...]) -> str:
    shown = " ".join(argv)[:200]
    try:
        done = subprocess.run(
            argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=_POWER_PATIENCE_S, check=False
        )
    except OSError as error:
        raise LabError(host.name, f"`{shown}` could not be started here: {error.strerror}") from None
    except subprocess.TimeoutExpired:
        raise LabError(host.name, f"`{shown}` did not end within {_POWER_PATIENCE_S:g} s") from None
    if done.returncode:
        raise LabError(host.name, f"`{shown}` ended with exit status {done.returncode}", tail(done.stdout, done.stderr))
    return shown


def asked(lab: Lab, op: str, **fields: Any) -> _Act:
    """A plain request to the agents, for the lease of the host."""

    def act(host: Host) -> Done:
        return Done(lab.agent(host).ask(op, token=lab.owner.token(host.name, HOST), **fields))

    return act


def on_card(lab: Lab, card: Card, verb: str, **fields: Any) -> _Act:
    """configure, configuration, start, stop, counters, state: what the driver does with a card that is leased to us."""

    def act(host: Host) -> Done:
        token = lab.owner.token(host.name, card_resource(card.name))
        found = lab.agent(host).ask("card", card=card.name, token=token, verb=verb, fields=fields, timeout_s=30.0)
        return Done(found, card.name)

    return act


def counters(lab: Lab, card: Card) -> _Act:
    """Of one moment; needs no lease."""

    def act(host: Host) -> Done:
        found = lab.agent(host).ask("counters", card=card.name, timeout_s=30.0)
        return Done(found, card.name, changed=False)

    return act


def attach(lab: Lab, label: str, mtu: int) -> _Act:
    def act(host: Host) -> Done:
        device, token = host.interface(label).device, lab.owner.token(host.name, HOST)
        facts = lab.agent(host).ask("attach", device=device, mtu=mtu, token=token)
        return Done(facts, f"{device} {facts['mac']} {facts['address'] or 'without an address'}")

    return act


def detach(lab: Lab, label: str) -> _Act:
    def act(host: Host) -> Done:
        device, token = host.interface(label).device, lab.owner.token(host.name, HOST)
        was = lab.agent(host).ask("detach", device=device, token=token)
        return Done(was, device, changed=was)

    return act
