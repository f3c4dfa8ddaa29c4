"""`python -m tests.wheels [--out FOLDER] [PYTHON ...]`: a wheel for each Python, tried where no compiler is.

Without arguments: for each release of RELEASES that this machine has. Each wheel is installed into an environment of
its own, with what it depends on. There, `tb` runs scenarios in virtual time, and finds no compiler. Their histories
must equal those of this checkout byte for byte, and come from compiled modules.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable
from pathlib import Path

__all__ = ["RELEASES", "SCENARIOS", "find_pythons", "main"]

RELEASES = ("3.11", "3.12", "3.13")
SCENARIOS = ("rack-lossy", "switchml-lossy", "atp-lossy", "grid-lossy", "ring")
_TOP = Path(__file__).resolve().parent.parent


class WheelError(Exception):
    """A wheel was not built, or differs from the checkout."""


def find_pythons(releases: Iterable[str] = RELEASES, places: Iterable[Path] | None = None) -> dict[str, Path]:
    """Interpreters by release: those of PATH first, then those of pyenv."""
    roots = [Path(each) for each in os.environ.get("PATH", "").split(os.pathsep) if each]
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found: dict[str, Path] = {}
    for release in releases:
        folders = [*(roots if places is None else places)]
        if places is None:
            folders += sorted(pyenv.glob(f"{release}.*/bin"))
        for folder in folders:
            program = folder / f"python{release}"
            if program.exists() and _answers(program):
                found[release] = program
                break
    return found


def _answers(program: Path) -> bool:
    """A shim of a version manager may exist and lead nowhere."""
    done = subprocess.run([program, "-c", "import ensurepip, venv"], capture_output=True, check=False)
    return done.returncode == 0


def _run(words: list[str | Path], **more: object) -> None:
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False, **more)  # type: ignore[call-overload]
    if done.returncode:
        raise WheelError(f"`{' '.join(map(str, words))}` ended with {done.returncode}:\n{done.stdout}{done.stderr}")


def build(python: Path, out: Path, work: Path) -> Path:
    """The wheel of the last commit, made by that interpreter."""
    source, venv = work / "source", work / "build"
    source.mkdir()
    archive = subprocess.run(
        ["git", "archive", "--format=zip", "HEAD"], cwd=_TOP, capture_output=True, check=True
    ).stdout
    with zipfile.ZipFile(io.BytesIO(archive)) as files:
        files.extractall(source)
    _run([python, "-m", "venv", venv])
    before = set(out.glob("*.whl"))
    cache = {"XDG_CACHE_HOME": str(work / "cache"), "PIP_CACHE_DIR": str(Path.home() / ".cache/pip")}
    _run(
        [venv / "bin/python", "-m", "pip", "wheel", "--no-deps", "--wheel-dir", out, source],
        env={**os.environ, **cache, "PYTHONPATH": ""},
    )
    (wheel,) = set(out.glob("*.whl")) - before
    return wheel


def histories(tb: list[str | Path], work: Path, environment: dict[str, str]) -> dict[str, str]:
    """Digest of the history of each scenario."""
    found = {}
    for name in SCENARIOS:
        run = work / f"run-{name}"
        _run([*tb, "run", name, "--world", "simulated", "--out", run], env=environment, cwd=work)
        code = json.loads((run / "result.json").read_text())["environment"]["code"]
        if code != "native":
            raise WheelError(f"{name} ran with the code {code!r}, not with compiled modules")
        found[name] = hashlib.sha256((run / "history.jsonl").read_bytes()).hexdigest()
    return found


def try_bare(python: Path, wheel: Path, work: Path) -> dict[str, str]:
    """Install it into an environment without anything else, and run it where PATH has no compiler."""
    venv, home = work / "bare", work / "home"
    home.mkdir()
    _run([python, "-m", "venv", venv])
    _run([venv / "bin/python", "-m", "pip", "install", "--quiet", wheel])
    return histories([venv / "bin/tb"], work, {"PATH": str(venv / "bin"), "HOME": str(home), "LANG": "C.UTF-8"})


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.wheels", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("dist"), help="folder for the wheels (default: dist)")
    parser.add_argument("pythons", nargs="*", type=Path, metavar="PYTHON", help="interpreters")
    args = parser.parse_args(words)
    pythons = {str(each): each for each in args.pythons} or find_pythons()
    if missing := [] if args.pythons else [each for each in RELEASES if each not in pythons]:
        print(f"no Python {', '.join(missing)} on this machine", file=sys.stderr)
        return 3
    args.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        reference = Path(folder) / "reference"
        reference.mkdir()
        here = histories([sys.executable, "-P", "-m", "testbed"], reference, {**os.environ, "PYTHONPATH": str(_TOP)})
        for number, (release, python) in enumerate(pythons.items()):
            work = Path(folder) / str(number)
            work.mkdir()
            try:
                wheel = build(python, args.out.resolve(), work)
                there = try_bare(python, wheel, work)
                if wrong := [name for name in SCENARIOS if here[name] != there[name]]:
                    raise WheelError(f"other histories than those of the checkout: {', '.join(wrong)}")
            except WheelError as error:
                print(f"Python {release}: {error}", file=sys.stderr)
                return 1
            size = wheel.stat().st_size / 1e6
            print(
                f"Python {release}: {wheel.name}, {size:.1f} MB: {len(SCENARIOS)} scenarios, equal histories",
                flush=True,
            )
            shutil.rmtree(work)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
