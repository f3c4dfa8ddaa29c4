"""The README's commands on a bare Debian 12: python3 -m tests.bareroot [--whole | --train | --tutorials | --demos N]
[--keep]

Makes a root by debootstrap, clones the committed HEAD of this checkout into it, and runs there, in namespaces of its
own, `./tb demo`, then the tests that start other programs (marker `programs`), without a network. So a program, a
package or a file that nobody declared is missing there, whatever else lies on this machine. `--train` runs the first
training of the README in place of those tests, `--tutorials` the five tutorials by copy and paste, `--demos` further
calls of `./tb demo`; the times that commands take are printed.

Needs root, `unshare`, git and the network. The root and all that is downloaded are kept in the user's cache folder.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.bareroot.registries import bring, passed_on, source_texts
from tests.bareroot.root import SUITE, StageError, cache_folder, fresh_root, kept_root, locked, mirror_of

_TOP = Path(__file__).resolve().parents[2]
_HOME = "/srv/ina-testbed"
"""of the clone, in the root"""
_LOG = "/var/log/programs-started"
TRAIN = ["./tb", "train", "rack-lossy", "--", "playbooks/training/mlp.py"]
"""the README's first training"""
TUTORIALS = [".venv/bin/python", "-P", "-m", "tests.bareroot.tutorials"]
_PYTEST = [".venv/bin/python", "-P", "-m", "pytest", "-m", "programs"]
_DEMO_S = 60
"""of a call of `./tb demo` after the first one, which sets up"""
_BASE = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LANG": "C.UTF-8"}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python3 -m tests.bareroot", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--whole", action="store_true", help="run the whole of `./tb test` there")
    parser.add_argument("--train", action="store_true", help="train there, with PyTorch as ./tb installs it")
    parser.add_argument("--tutorials", action="store_true", help="run all commands of the five tutorials there")
    parser.add_argument(
        "--demos", type=int, default=0, metavar="N", help=f"call ./tb demo N times more, each at most {_DEMO_S} s"
    )
    parser.add_argument("--keep", action="store_true", help="keep the run's root, to look at it")
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    began = time.monotonic()
    try:
        _stage(whole=args.whole, train=args.train, tutorials=args.tutorials, demos=args.demos, keep=args.keep)
    except StageError as error:
        print(f"bare root: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    print(f"== bare root: passed in {time.monotonic() - began:.0f} s", flush=True)
    return 0


def _stage(*, whole: bool, train: bool, tutorials: bool, demos: int, keep: bool) -> None:
    if os.geteuid() != 0:
        raise StageError("needs root, for mounts and namespaces")
    for program in ("unshare", "mount", "git"):
        if not shutil.which(program):
            raise StageError(f"the program {program} is missing")
    cache = cache_folder()
    with locked(cache):
        _say(f"the bare {SUITE}")
        root = fresh_root(cache, kept_root(cache, mirror_of(source_texts())))
        try:
            binds = {str(folder): str(folder) for folder in bring(root)}
            packages = cache / "packages"
            packages.mkdir(exist_ok=True)
            binds[str(packages)] = "/var/cache/apt/archives"
            _clone(root)
            _step(root, binds, ["./tb", "demo"], {})
            if whole:
                _step(root, binds, ["./tb", "test"], {})
            elif train:
                _step(root, binds, TRAIN, {})
            elif tutorials:
                _step(root, binds, TUTORIALS, {"PYTHONPATH": _HOME})
            elif demos:
                _call_demos(root, binds, demos)
            else:
                _check_programs(root, binds)
        finally:
            if keep:
                _say(f"the root is kept: {root}")
            else:
                shutil.rmtree(root)


def _call_demos(root: Path, binds: dict[str, str], count: int) -> None:
    """A demo ends with 0 only if its sums are right and its figures trusted."""
    for number in range(1, count + 1):
        took_s = _step(root, binds, ["./tb", "demo"], {})
        if took_s > _DEMO_S:
            raise StageError(f"call {number} of `./tb demo` took {took_s:.0f} s, allowed: {_DEMO_S} s")


def _clone(root: Path) -> None:
    place = root / _HOME.lstrip("/")
    _git("clone", "--quiet", "--no-hardlinks", str(_TOP), str(place))
    wanted, found = (_git("-C", str(folder), "rev-parse", "HEAD") for folder in (_TOP, place))
    if wanted != found:
        raise StageError(f"the clone is at {found}, this checkout at {wanted}")


def _git(*words: str) -> str:
    done = subprocess.run(["git", *words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise StageError(f"`git {' '.join(words)}` ended with exit status {done.returncode}: {done.stderr.strip()}")
    return done.stdout.strip()


def _check_programs(root: Path, binds: dict[str, str]) -> None:
    """The tests, with each program that they start noted; each program that `./tb` installs must be among them."""
    log = root / _LOG.lstrip("/")
    log.touch()
    log.chmod(0o666)
    _step(
        root,
        binds,
        _PYTEST,
        {"PYTHONPATH": f"{_HOME}:{_HOME}/tests/bareroot/noting", "INA_PROGRAMS_LOG": _LOG},
        offline=True,
    )
    _step(
        root,
        binds,
        [".venv/bin/python", "-P", "-m", "tests.bareroot.started", _LOG],
        {"PYTHONPATH": _HOME},
        offline=True,
    )


def _step(
    root: Path, binds: dict[str, str], command: list[str], environment: dict[str, str], *, offline: bool = False
) -> float:
    """Seconds that it took. Raises StageError unless it ends with 0."""
    _say(" ".join(command))
    step = {
        "command": command, "environment": passed_on(os.environ) | _BASE | environment, "folder": _HOME, "binds": binds,
        "offline": offline,
    }  # fmt: skip
    file = root / "step.json"
    file.write_text(json.dumps(step), encoding="utf-8")
    words = ["unshare", "--mount", "--uts", "--ipc", "--pid", "--fork", "--kill-child", *(["--net"] if offline else [])]
    words += [sys.executable, "-P", "-m", "tests.bareroot.inside", str(root), str(file)]
    began = time.monotonic()
    status = subprocess.run(
        words, env={**os.environ, "PYTHONPATH": str(_TOP)}, stdin=subprocess.DEVNULL, check=False
    ).returncode
    if status:
        raise StageError(f"`{' '.join(command)}` ended with exit status {status} on a bare {SUITE}")
    took_s = time.monotonic() - began
    _say(f"{' '.join(command)}: {took_s:.0f} s")
    return took_s


def _say(text: str) -> None:
    print(f"== bare root: {text}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
