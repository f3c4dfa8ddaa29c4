"""Unpacks a package that was sent and makes it the current one. Standard library only: it is sent to the host itself.

    python3 - BASE VERSION pip|host [OPTION OF PIP ...] < install.py

Says `there` or `installed`; exit status 75 with the reason.

Done again it does nothing; broken off at any moment it leaves what was current before.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile

_KEEP = 2
"""versions to keep in addition to the current one"""
_NEEDS = ("numpy", "pydantic", "PyYAML")


def _fail(problem: str) -> None:
    print(problem, file=sys.stderr)
    sys.exit(75)


def _version(folder: str) -> str:
    whole, entries = hashlib.sha256(), []
    for path, _, names in os.walk(folder):
        for name in names:
            full = os.path.join(path, name)
            entries.append((os.path.relpath(full, folder).replace(os.sep, "/"), full))
    for name, full in sorted(entries):
        with open(full, "rb") as file:
            whole.update(f"{name}\0{hashlib.sha256(file.read()).hexdigest()}\n".encode())
    return whole.hexdigest()[:16]


def _unpack(base: str, version: str) -> str:
    archive = os.path.join(base, "packages", version + ".tar.gz")
    fresh = os.path.join(base, "deploy", f".{version}.{os.getpid()}")
    sources = os.path.join(fresh, "src")
    os.makedirs(sources, mode=0o755)
    with tarfile.open(archive) as package:
        for member in package:
            if not member.isfile() or member.name.startswith("/") or ".." in member.name.split("/"):
                _fail(f"the package holds {member.name!r}, which is no file of ours")
            package.extract(member, sources, set_attrs=False)
    if _version(sources) != version:
        _fail("the package is not what its name says")
    return fresh


def _make_python(fresh: str, final: str, packages: str, options: list[str]) -> None:
    """`bin/python`: this package with what it needs."""
    if packages == "host":
        os.makedirs(os.path.join(fresh, "bin"))
        wrapper = os.path.join(fresh, "bin", "python")
        with open(wrapper, "w", encoding="ascii") as file:
            file.write(f'#!/bin/sh\nPYTHONPATH={final}/src\nexport PYTHONPATH\nexec {sys.executable} "$@"\n')
        os.chmod(wrapper, 0o755)
        return
    subprocess.run([sys.executable, "-m", "venv", fresh], check=True, stdin=subprocess.DEVNULL)
    python, pins = os.path.join(fresh, "bin", "python"), os.path.join(fresh, "src", "requirements.txt")
    pip = [python, "-m", "pip", "install", "--no-input", "--disable-pip-version-check", *options]
    pip += ["-c", pins, *_NEEDS]
    subprocess.run(pip, check=True, stdin=subprocess.DEVNULL, stdout=sys.stderr)
    library = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    with open(os.path.join(fresh, "lib", library, "site-packages", "ina-testbed.pth"), "w", encoding="utf-8") as file:
        file.write(os.path.join(final, "src") + "\n")


def main(base: str, version: str, packages: str, *options: str) -> None:
    folder, final = os.path.join(base, "deploy"), os.path.join(base, "deploy", version)
    os.makedirs(folder, mode=0o755, exist_ok=True)
    for name in os.listdir(folder):
        if name.startswith("."):
            shutil.rmtree(os.path.join(folder, name), ignore_errors=True)
    said = "there"
    if not os.path.isdir(final):
        fresh = _unpack(base, version)
        _make_python(fresh, final, packages, list(options))
        probe = dict(os.environ, PYTHONPATH=os.path.join(fresh, "src"))
        python = sys.executable if packages == "host" else os.path.join(fresh, "bin", "python")
        subprocess.run([python, "-P", "-c", "import numpy, pydantic, yaml, testbed"], check=True, env=probe)
        os.rename(fresh, final)
        said = "installed"
    link, fresh_link = os.path.join(base, "current"), os.path.join(base, f".current.{os.getpid()}")
    os.symlink(os.path.join("deploy", version), fresh_link)
    os.replace(fresh_link, link)
    old = [name for name in os.listdir(folder) if name != version]
    old.sort(key=lambda name: os.path.getmtime(os.path.join(folder, name)), reverse=True)
    for name in old[_KEEP:]:
        shutil.rmtree(os.path.join(folder, name), ignore_errors=True)
    print(said)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except subprocess.CalledProcessError as error:
        _fail(f"`{' '.join(error.cmd[:6])}` ended with exit status {error.returncode}")
    except OSError as error:
        _fail(f"{error.strerror or error} ({error.filename or sys.argv[1]})" if error.errno else str(error))
