"""A card as the agent owns it: what its newest bitstream is, and that no client uses a card that is half programmed.

The journal says `programming` before the first byte goes to the card, and `programmed` after the card itself was asked
what it runs. An agent that starts and finds `programming` knows that its predecessor died in between. The card counts
as half programmed until it was programmed again or reset.
"""

from __future__ import annotations

import contextlib
import hashlib
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from testbed.lab.agent.answers import CardStatus
from testbed.lab.agent.journal import read_json, write_json
from testbed.lab.agent.protocol import AgentRefused
from workloads.codec import PLAIN
from workloads.errors import LabError, TestbedError

__all__ = ["CardBackend", "CardOwner", "bitstream_path"]


class CardBackend(Protocol):
    """Registers of one card. Methods raise TestbedError or OSError; calls come one at a time."""

    def bitstream(self) -> str | None:
        """SHA-256 (hex) of what is loaded, as the card says it; None: nothing."""
        ...

    def program(self, data: bytes) -> None:
        """Load; returns when the card says that it is loaded."""
        ...

    def reset(self) -> None:
        """As after power-on; the bitstream may stay."""
        ...

    def act(self, verb: str, fields: Mapping[str, Any]) -> Any:
        """configure, configuration, start, stop, counters, state, read, write; what comes back is the answer to
        `ActOnCard`."""
        ...

    def close(self) -> None: ...


def bitstream_path(base: Path, sha256: str) -> Path:
    """Raises Refused: a name from outside never leads anywhere else."""
    if len(sha256) != 64 or set(sha256) - set("0123456789abcdef"):
        raise AgentRefused("a bitstream is named by its SHA-256: 64 hexadecimal digits")
    return base / "bitstreams" / f"{sha256}.bit"


class CardOwner:
    def __init__(
        self, name: str, base: Path, open_backend: Callable[[], CardBackend], now: Callable[[], float]
    ) -> None:
        """`open_backend` is called when registers are needed, so that an agent starts though a card does not answer."""
        self.name, self._base, self._open, self._now = name, base, open_backend, now
        self._file = base / "state" / f"card-{name}.json"
        self._lock = threading.Lock()
        self._busy_with = ""
        found = PLAIN.decode(CardStatus, read_json(self._file, {"state": "unknown"}), {"card": name, "busy": ""})
        self._journal = found
        if found.state == "programming":
            self._note(replace(found, state="half-programmed"))

    def status(self) -> CardStatus:
        """Never waits for the card."""
        return replace(self._journal, busy=self._busy_with)

    @property
    def busy(self) -> bool:
        return bool(self._busy_with)

    def program(self, sha256: str, owner: str) -> CardStatus:
        """Verified before (the file is what its name says) and after (the card says that it runs it). Raises
        Refused."""
        path = bitstream_path(self._base, sha256)
        try:
            data = path.read_bytes()
        except OSError as error:
            raise AgentRefused(f"bitstream {sha256[:12]} is not on this host: {error.strerror}") from None
        if hashlib.sha256(data).hexdigest() != sha256:
            path.unlink(missing_ok=True)
            raise AgentRefused(f"bitstream {sha256[:12]} is damaged on this host and was removed; send it again")
        with self._alone(f"programming {sha256[:12]} for {owner}"):
            begun = CardStatus(self.name, "programming", "", sha256, owner, self._now())
            self._note(begun)
            try:
                with contextlib.closing(self._open()) as backend:
                    backend.program(data)
                    loaded = backend.bitstream()
            except (TestbedError, OSError) as error:
                self._note(replace(begun, state="half-programmed", problem=str(error)))
                raise AgentRefused(
                    f"card {self.name} is half programmed and out of use; program it again, or reset it: {error}"
                ) from error
            if loaded != sha256:
                problem = f"it says that it runs {(loaded or 'nothing')[:12]}, not {sha256[:12]}"
                self._note(replace(begun, state="half-programmed", problem=problem))
                raise AgentRefused(f"card {self.name} is out of use: {problem}; program it again, or reset it")
            self._note(replace(begun, state="programmed"))
        return self.status()

    def reset(self, owner: str) -> CardStatus:
        """Out of every state. What it runs afterwards, the card itself is asked."""
        with self._alone(f"reset for {owner}"):
            half = self._journal.state == "half-programmed"
            try:
                with contextlib.closing(self._open()) as backend:
                    backend.reset()
                    loaded = None if half else backend.bitstream()
            except (TestbedError, OSError) as error:
                raise AgentRefused(f"card {self.name} could not be reset: {error}") from error
            state = "programmed" if loaded else "empty"
            self._note(CardStatus(self.name, state, "", loaded, owner, self._now()))
        return self.status()

    def act(self, verb: str, fields: Mapping[str, Any]) -> Any:
        """Raises Refused when the card is not to be used, or does not do it."""
        if self._journal.state in ("half-programmed", "programming"):
            problem = self._journal.problem or "its agent died while it was programmed"
            raise AgentRefused(f"card {self.name} is half programmed ({problem}); program it again: tb lab program")
        with self._alone(verb):
            try:
                with contextlib.closing(self._open()) as backend:
                    return backend.act(verb, fields)
            except (LabError, OSError) as error:
                # It, or the way to it, does what it should not: what it runs now, nobody knows until it is asked again.
                self._note(replace(self._journal, state="unknown", problem=str(error)))
                raise AgentRefused(f"card {self.name}: {verb}: {error}") from error
            except TestbedError as error:
                raise AgentRefused(f"card {self.name}: {verb}: {error}") from error

    def _alone(self, what: str) -> _Alone:
        return _Alone(self, what)

    def _note(self, journal: CardStatus) -> None:
        try:
            write_json(self._file, PLAIN.encode_fields(journal, leave_out=("card", "busy")))
        except OSError as error:
            raise AgentRefused(f"the state of card {self.name} cannot be written down: {error.strerror}") from None
        self._journal = journal


class _Alone:
    """One at a time; the others get an error that names the user instead of waiting."""

    def __init__(self, card: CardOwner, what: str) -> None:
        self._card, self._what = card, what

    def __enter__(self) -> None:
        if not self._card._lock.acquire(timeout=1.0):
            raise AgentRefused(f"card {self._card.name} is busy: {self._card._busy_with}")
        self._card._busy_with = self._what

    def __exit__(self, *_: object) -> None:
        self._card._busy_with = ""
        self._card._lock.release()
