"""`tb switch`, `tb worker`, `tb server`, `tb card serve`: processes of their own, and files for them."""

from __future__ import annotations

import dataclasses
import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from topologies import format_ip, format_mac

__all__ = ["ROOT", "Node", "events", "plain"]

ROOT = Path(__file__).resolve().parents[2]


def plain(value: Any) -> Any:
    """A configuration as a person would write it."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, bytes):
        return format_mac(value) if len(value) == 6 else format_ip(value)
    return [plain(item) for item in value] if isinstance(value, tuple) else value


def events(output: str, name: str) -> list[dict[str, Any]]:
    return [record for line in output.splitlines() if (record := json.loads(line))["event"] == name]


class Node:
    """A process whose output goes into files: a pipe that nobody reads would halt it after 64 KiB of events."""

    def __init__(self, folder: Path, name: str, *words: str) -> None:
        self._out, self._err = folder / f"{name}.jsonl", folder / f"{name}.err"
        self._next_event = 0
        with self._out.open("wb") as out, self._err.open("wb") as err:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "testbed", *words], cwd=ROOT, stdout=out, stderr=err, stdin=subprocess.DEVNULL
            )

    @property
    def told(self) -> str:
        """Whole lines only: the last one may still be under way."""
        text = self._out.read_text(encoding="utf-8")
        return text[: text.rfind("\n") + 1]

    def await_event(self, name: str, *, within_s: float = 60, **fields: Any) -> dict[str, Any]:
        """The next event of this name, with these fields, after the one that was awaited last."""
        deadline = time.monotonic() + within_s
        while True:
            ended = self.process.poll() is not None
            records = [json.loads(line) for line in self.told.splitlines()]
            for number, record in enumerate(records[self._next_event :], self._next_event + 1):
                if record["event"] == name and fields.items() <= record.items():
                    self._next_event = number
                    return dict(record)
            if ended:
                raise AssertionError(f"the node ended before {name}: {self._errors()}")
            if time.monotonic() > deadline:
                raise AssertionError(f"no {name} in {within_s:.0f} s; the last lines: {self.told.splitlines()[-5:]}")
            time.sleep(0.01)

    def ended(self, *, within_s: float) -> str:
        """Everything that the node told until it ended by itself, with status 0."""
        try:
            status = self.process.wait(within_s)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"still there; the last lines: {self.told.splitlines()[-5:]}") from None
        assert status == 0, self._errors()
        return self.told

    def stop(self, *, within_s: float = 60) -> str:
        self.process.send_signal(signal.SIGTERM)
        return self.ended(within_s=within_s)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def _errors(self) -> str:
        return self._err.read_text(encoding="utf-8")[-4000:]
