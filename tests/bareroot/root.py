"""The root: what debootstrap makes of a release, kept between runs, and a fresh copy of it for each run."""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["SUITE", "StageError", "cache_folder", "fresh_root", "kept_root", "locked", "mirror_of"]

SUITE = "bookworm"
_VARIANT = "minbase"
"""essential packages and apt: less than any installation that a person makes"""
_KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"


class StageError(Exception):
    """The stage cannot be run here, or did not pass; says why."""


def cache_folder() -> Path:
    """Of the user who runs it: a clone may be thrown away after each run."""
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "ina-testbed" / "bareroot"


@contextmanager
def locked(cache: Path) -> Iterator[None]:
    """Two runs at once would share the copy. Raises StageError when another one has it."""
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / "lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StageError(f"another run uses {cache}") from None
        yield


def mirror_of(sources: list[str], suite: str = SUITE) -> str | None:
    """Where this machine has the release from: texts of apt's source lists, in both formats. None: as debootstrap
    decides."""
    for text in sources:
        for paragraph in re.split(r"\n\s*\n", text):
            fields = dict(re.findall(r"^(URIs|Suites):\s*(\S.*)$", paragraph, re.MULTILINE))
            if suite in fields.get("Suites", "").split():
                return fields["URIs"].split()[0]
        found = re.search(rf"^deb\s+(?:\[[^]]*\]\s+)?(\S+)\s+{suite}\s", text, re.MULTILINE)
        if found:
            return found[1]
    return None


def kept_root(cache: Path, mirror: str | None) -> Path:
    """The root as debootstrap left it; made when there is none of this recipe. Raises StageError."""
    key = hashlib.sha256(f"{SUITE} {_VARIANT} {mirror}".encode()).hexdigest()[:12]
    kept = cache / f"root-{key}"
    if kept.is_dir():
        return kept
    for old in cache.glob("root-*"):
        shutil.rmtree(old)
    _ensure_debootstrap()
    making = cache / "making"
    shutil.rmtree(making, ignore_errors=True)
    keyring = [f"--keyring={_KEYRING}"] if Path(_KEYRING).exists() else []
    _run(["debootstrap", f"--variant={_VARIANT}", *keyring, SUITE, str(making), *([mirror] if mirror else [])])
    for package in (making / "var" / "cache" / "apt" / "archives").glob("*.deb"):
        package.unlink()
    making.rename(kept)
    return kept


def fresh_root(cache: Path, kept: Path) -> Path:
    """A copy that this run may change."""
    copy = cache / "run"
    if copy.exists():
        shutil.rmtree(copy)
    _run(["cp", "-a", "--reflink=auto", str(kept), str(copy)])
    return copy


def _ensure_debootstrap() -> None:
    if shutil.which("debootstrap"):
        return
    if not shutil.which("apt-get"):
        raise StageError("debootstrap is missing, and this machine has no apt-get to install it with")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    _run(
        ["apt-get", "-q", "-y", "-o", "DPkg::Lock::Timeout=300", "install", "--no-install-recommends", "debootstrap"],
        environment,
    )


def _run(command: list[str], environment: dict[str, str] | None = None) -> None:
    done = subprocess.run(
        command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, errors="replace", check=False,
    )  # fmt: skip
    if done.returncode:
        end = "\n".join(f"  | {line}" for line in done.stdout.splitlines()[-15:])
        raise StageError(f"`{' '.join(command[:6])} ...` ended with exit status {done.returncode}:\n{end}")
