"""The driver of one card, through the agent of its host."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from testbed.lab.agent.operations import card_resource
from testbed.lab.agent.requests import ActOnCard, ListCards, ProgramCard, ReadCounters, ResetCard
from testbed.lab.drivers.step import Driver, Undoing, step
from testbed.lab.lab import Lab, StepDone
from testbed.lab.model import Card, Host
from testbed.lab.transfer import receive, send
from workloads.errors import ScenarioError

__all__ = ["LabCardDriver", "read_bitstream"]

_ASKED_S = 30.0
"""time limit of what a card does at once"""


def read_bitstream(card: Card, path: Path | None = None) -> bytes | None:
    """Of this file, or of the inventory's for the card; None: there is none. Raises ScenarioError."""
    path = path or card.bitstream
    if path is None:
        return None
    try:
        return path.read_bytes()
    except OSError as error:
        raise ScenarioError(f"cannot be read: {error.strerror}", file=str(path), key="bitstream") from None


class LabCardDriver(Driver):
    """Of the card of this name; None: of the only one. A step answers with the card's value alone."""

    def __init__(self, lab: Lab, name: str | None = None, undoing: Undoing | None = None) -> None:
        self.card = lab.inventory.card(name)
        super().__init__(lab, [lab.inventory.hosts[self.card.host]], undoing)

    def value(self, values: dict[str, Any]) -> Any:
        return values[self.card.host]

    @step(
        "load a bitstream into a card",
        would=("send the bitstream to {base}/bitstreams", "ask the agent at {socket}: program"),
        needs=("lease",), undone_by="stop", command=True, task=True,
    )  # fmt: skip
    def program(self, host: Host, *, bitstream: bytes) -> StepDone:
        """Unless the card says that it runs it. The agent verifies before and after, and goes on when we die. The state
        of the card afterwards."""
        card, agent, sha256 = self.card.name, self.lab.agent(host), hashlib.sha256(bitstream).hexdigest()
        found = next(entry for entry in agent.ask(ListCards()) if entry.card == card)
        detail = f"{card} runs {sha256[:12]}"
        known = found.state == "programmed" and found.bitstream == sha256
        if known and self._verb(host, "state").bitstream == sha256:
            return StepDone(found, detail, changed=False)
        send(self.lab.shell(host), bitstream, f"{host.base}/bitstreams/{sha256}.bit")
        limit = self.card.program_timeout_s + 30.0
        found = agent.ask(ProgramCard(card, sha256, self._token(host)), timeout_s=limit)
        return StepDone(found, detail)

    @step(
        "a card as after power-on",
        would=("ask the agent at {socket}: reset",), needs=("lease",), command=True, task=True,
    )  # fmt: skip
    def reset(self, host: Host) -> StepDone:
        found = self.lab.agent(host).ask(ResetCard(self.card.name, self._token(host)), timeout_s=_ASKED_S)
        return StepDone(found, f"{self.card.name} is {found.state}")

    @step("the registers of a card, from a SwitchConfig as JSON", needs=("lease",), undone_by="stop", task=True)
    def configure(self, host: Host, *, config: str) -> StepDone:
        return StepDone(self._verb(host, "configure", config=config), self.card.name)

    @step("the faults of a run, to the cables of an emulated lab", needs=("lease",))
    def cables(self, host: Host, *, text: str) -> StepDone:
        """`text`: as `testbed.lab.emulated.cables` writes it; heeded at the next START."""
        assert self.card.cables is not None, "cables of an emulated lab"
        shell = self.lab.shell(host)
        shell.run(["rm", "-f", self.card.cables])
        send(shell, text.encode(), self.card.cables)
        return StepDone(None, self.card.name)

    @step("a card passes frames from then on", needs=("lease", "configure"), undone_by="stop", task=True)
    def start(self, host: Host) -> StepDone:
        return StepDone(self._verb(host, "start"), self.card.name)

    @step("a card passes no frame from then on", needs=("lease",), task=True)
    def stop(self, host: Host) -> StepDone:
        return StepDone(self._verb(host, "stop"), self.card.name)

    @step("what the card says of itself", needs=("lease",))
    def state(self, host: Host) -> StepDone:
        return StepDone(self._verb(host, "state"), self.card.name)

    @step("the rings that a card runs", needs=("lease",))
    def configuration(self, host: Host) -> StepDone:
        return StepDone(self._verb(host, "configuration"), self.card.name)

    @step("all counters of a card, of one moment", needs=("deploy",), changes=False)
    def counters(self, host: Host) -> StepDone:
        found = self.lab.agent(host).ask(ReadCounters(self.card.name), timeout_s=_ASKED_S)
        return StepDone(found, self.card.name, changed=False)

    @step("what a card wrote down of its frames", changes=False)
    def trace(self, host: Host, *, path: Path, capture: Path | None = None) -> StepDone:
        """Its records to `path`, its frames to `capture`."""
        shell = self.lab.shell(host)
        size = receive(shell, f"{self.card.trace}.jsonl", path)
        if capture is not None:
            size += receive(shell, f"{self.card.trace}.pcapng", capture)
        return StepDone(size, f"{size} bytes")

    def _token(self, host: Host) -> str:
        return self.lab.owner.token(host.name, card_resource(self.card.name))

    def _verb(self, host: Host, verb: str, **fields: Any) -> Any:
        """What the agent's driver does with a card that is leased to us."""
        request = ActOnCard(self.card.name, verb, self._token(host), fields)
        return self.lab.agent(host).ask(request, timeout_s=_ASKED_S)
