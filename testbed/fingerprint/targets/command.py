"""A command that sums files: raw little-endian elements, one file for each rank, one for the result."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from testbed.fingerprint.reducer import Array, ReducerRefused, Unusable
from workloads.errors import HostCapabilityError, ScenarioError

__all__ = ["CommandReducer"]

_IN, _OUT, _MORE = "{in}", "{out}", "..."
_REPEATS = 3
_SHOWN = 200
"""characters of the last line of an error"""


class CommandReducer:
    """A Reducer. `{in}` alone stands for the names of all input files, by rank; `{out}` for the file to write;
    `{ranks}` and `{elements}` for these numbers. No shell reads the words. Raises ScenarioError for a bad template, or
    a program that is not there."""

    def __init__(self, template: str, ranks: int, elements: int, dtype: str, timeout_s: float) -> None:
        self.ranks, self.elements, self.dtype, self.provocations = ranks, elements, dtype, _REPEATS
        self._timeout_s = timeout_s
        self._words = _words(template)

    def reduce(self, gradients: Array, provocation: int = 0) -> Array:
        """As Reducer.reduce: one call of the command for each gradient."""
        sums = np.empty((len(gradients), self.elements), gradients.dtype)
        with tempfile.TemporaryDirectory(prefix="tb-fingerprint-") as folder:
            names = [Path(folder, f"rank{rank}") for rank in range(self.ranks)]
            out = Path(folder, "sum")
            words = list(self._filled(names, out))
            for number, gradient in enumerate(gradients):
                for name, row in zip(names, gradient, strict=True):
                    name.write_bytes(row.astype(row.dtype.newbyteorder("<"), copy=False).tobytes())
                out.unlink(missing_ok=True)
                self._call(words)
                sums[number] = self._read(out, gradients.dtype)
        return sums

    def _filled(self, names: list[Path], out: Path) -> Iterator[str]:
        for word in self._words:
            if word == _IN:
                yield from map(str, names)
            else:
                filled = word.replace(_OUT, str(out)).replace("{ranks}", str(self.ranks))
                yield filled.replace("{elements}", str(self.elements))

    def _call(self, words: list[str]) -> None:
        try:
            done = subprocess.run(
                words, stdin=subprocess.DEVNULL, capture_output=True, timeout=self._timeout_s, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            raise ReducerRefused(f"the command took longer than {self._timeout_s:g} s") from None
        except OSError as error:
            raise HostCapabilityError(
                f"what the command needs ({error.strerror})", "can you start it by hand?"
            ) from error
        if done.returncode:
            lines = (done.stderr or done.stdout).decode(errors="replace").strip().splitlines()
            last = f": {lines[-1][:_SHOWN]}" if lines else ""
            raise ReducerRefused(f"the command ended with exit code {done.returncode}{last}")

    def _read(self, out: Path, dtype: np.dtype[np.generic]) -> Array:
        if not out.is_file():
            raise Unusable("the command ended with exit code 0 and wrote no {out}")
        data = out.read_bytes()
        if len(data) != 4 * self.elements:
            raise Unusable(f"the command wrote {len(data):,} bytes to {{out}}, not {4 * self.elements:,}")
        return np.frombuffer(data, dtype.newbyteorder("<")).astype(dtype)


def _words(template: str) -> list[str]:
    try:
        words = shlex.split(template)
    except ValueError as error:
        raise _refuse(f"cannot be read ({error})", template) from None
    words = [word for at, word in enumerate(words) if not (word == _MORE and words[at - 1 : at] == [_IN])]
    if _IN not in words:
        raise _refuse("has no {in} as a word of its own", template)
    if not any(_OUT in word for word in words):
        raise _refuse("has no {out}", template)
    if shutil.which(words[0]) is None:
        problem = "cannot be executed" if Path(words[0]).exists() else "no such program"
        raise _refuse(problem, words[0])
    return words


def _refuse(problem: str, found: str) -> ScenarioError:
    return ScenarioError(
        problem, file="tb fingerprint", key="command", found=found,
        allowed="a program and its words, as: command:./sum.sh {in} {out}",
    )  # fmt: skip
