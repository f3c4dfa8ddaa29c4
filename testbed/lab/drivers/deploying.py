"""This package and its agent on a host: sent, unpacked, started."""

from __future__ import annotations

import json
import time
from importlib.resources import files

from testbed.lab.agent.requests import Quit
from testbed.lab.client import NoAgent
from testbed.lab.lab import Lab, StepDone
from testbed.lab.model import Host
from testbed.lab.package import Package
from testbed.lab.ssh import tail
from testbed.lab.transfer import send
from workloads.errors import LabError

__all__ = ["deploy_package", "script"]


def script(name: str) -> bytes:
    """A file of the agent that hosts run before they have the package."""
    return files("testbed.lab.agent").joinpath(name).read_bytes()


def deploy_package(lab: Lab, host: Host, package: Package) -> StepDone:
    """What is there already is left alone. Raises LabError."""
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
                stdin=script("install.py"), timeout_s=limit,
            ).text.strip()  # fmt: skip
        finally:
            shell.run(["rm", "-f", path], check=False)
    started = _ensure_agent(lab, host, package.version)
    return StepDone(
        package.version, f"{package.version}, agent {started}", changed=said != "there" or started != "runs"
    )


def _ensure_agent(lab: Lab, host: Host, version: str) -> str:
    cards = {
        card.name: {"transport": card.transport, "program_timeout_s": card.program_timeout_s}
        for card in lab.inventory.cards.values()
        if card.host == host.name
    }
    lab.forget_agent(host)
    try:
        agent = lab.agent(host)
        if agent.identity().version == version and {card.card for card in agent.hello().cards} == set(cards):
            return "runs"
        lab.agent(host).ask(Quit())
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
