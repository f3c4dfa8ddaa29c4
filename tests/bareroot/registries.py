"""How this machine reaches its package registries, brought into a root: source lists, proxies, certificates, pip's
settings.

Read when the stage runs and kept nowhere but in the copy that the run throws away.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

__all__ = ["bring", "folders_named", "passed_on", "source_texts"]

_SOURCES = ("/etc/apt/sources.list", "/etc/apt/sources.list.d")
_COPIED = (
    *_SOURCES, "/etc/apt/auth.conf.d", "/etc/apt/keyrings", "/etc/apt/trusted.gpg.d", "/usr/share/keyrings",
    "/etc/pip.conf",
    "/usr/local/share/ca-certificates", "/etc/ssl/certs/ca-certificates.crt", "/etc/resolv.conf", "/etc/hosts",
)  # fmt: skip
_APT_SETTINGS = (
    "Acquire::http",
    "Acquire::https",
    "Acquire::Check-Valid-Until",
    "Acquire::Check-Date",
    "Acquire::Retries",
)
_PASSED = re.compile(r"(?i)(PIP_.*|.*_proxy|SSL_CERT_.*|REQUESTS_CA_BUNDLE|CURL_CA_BUNDLE|CI|TERM)")


def source_texts() -> list[str]:
    """apt's source lists."""
    files = [Path(_SOURCES[0]), *sorted(Path(_SOURCES[1]).glob("*.sources")), *sorted(Path(_SOURCES[1]).glob("*.list"))]
    return [file.read_text(encoding="utf-8", errors="replace") for file in files if file.is_file()]


def passed_on(environment: Mapping[str, str]) -> dict[str, str]:
    """What of the environment tells pip and others how to reach the network."""
    return {name: value for name, value in environment.items() if _PASSED.fullmatch(name)}


def bring(root: Path) -> tuple[Path, ...]:
    """Copies into `root`; returns the folders of this machine that pip's settings name, which are to be seen there as
    well."""
    for name in _COPIED:
        source, target = Path(name), root / name.lstrip("/")
        if source.is_dir():
            shutil.copytree(source, target, dirs_exist_ok=True)
        elif source.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
    own = [Path.home() / ".config/pip/pip.conf", Path.home() / ".pip/pip.conf"]
    for source in (path for path in own if path.is_file()):
        target = root / "root" / source.relative_to(Path.home())
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
    (root / "etc/apt/apt.conf.d/90registries").write_text(_apt_settings(), encoding="utf-8")
    settings = [path.read_text(encoding="utf-8") for path in (Path("/etc/pip.conf"), *own) if path.is_file()]
    settings += [value for name, value in os.environ.items() if name.startswith("PIP_")]
    return tuple(folders_named(settings))


def folders_named(settings: Iterable[str]) -> Iterator[Path]:
    """Folders that these settings of pip name, as paths or as file:// addresses, and that are there. Of an index on
    disk (`.../simple`) it is the folder above, as its pages link to files beside it."""
    seen = {Path("/etc")}
    for found in re.findall(r"(?:file://|(?<![\w:/]))(/[^\s,;=:]+)", "\n".join(settings)):
        path = Path(found)
        path = path.parent if path.name == "simple" else path
        if path.is_dir() and not any(path.is_relative_to(other) for other in seen):
            seen.add(path)
            yield path


def _apt_settings() -> str:
    done = subprocess.run(["apt-config", "dump", *_APT_SETTINGS], capture_output=True, text=True, check=True)
    return done.stdout
