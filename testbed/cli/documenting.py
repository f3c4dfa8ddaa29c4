"""`tb docs`: the documentation as a site, built strictly with MkDocs, or served on loopback while pages are written."""

from __future__ import annotations

import argparse
import importlib.util
import os
import socket
import subprocess
import sys
from pathlib import Path

from testbed.cli.values import whole
from workloads.errors import HostCapabilityError, ScenarioError

__all__ = ["configure_docs", "run_docs"]

_TOP = Path(__file__).resolve().parents[2]
SITE = _TOP / "build" / "site"
_LOOPBACK = "127.0.0.1"
_PACKAGES = ("mkdocs", "material", "mkdocstrings", "mkdocstrings_handlers.python")


def configure_docs(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "examples:\n  ./tb docs            build/site/index.html\n  ./tb docs --serve    http://127.0.0.1:8000/\n"
    )
    parser.add_argument(
        "--serve", action="store_true", help="serve the site on loopback, with search; build again when a page changes"
    )
    parser.add_argument(
        "--port",
        type=whole(1, 65535),
        default=8000,
        metavar="N",
        help="TCP port of --serve (default: 8000)",
    )


def run_docs(args: argparse.Namespace) -> int:
    if not (_TOP / "mkdocs.yml").is_file():
        raise HostCapabilityError(
            "the pages, which are not part of an installed package", "clone the repository and use its ./tb docs"
        )
    missing = [name for name in _PACKAGES if not _is_installed(name)]
    if missing:
        raise HostCapabilityError(
            f"the Python package {missing[0]} for {sys.executable}",
            f"./tb docs installs it; by hand: {sys.executable} -m pip install -r requirements-docs.txt",
        )
    return _serve(args.port) if args.serve else _build(quiet=args.quiet)


def _build(*, quiet: bool) -> int:
    """Exit code 1: a link or an anchor leads nowhere, or a page is not in the navigation. MkDocs names them."""
    if not _is_writable(SITE):
        raise HostCapabilityError(f"a folder {SITE} that this user can write", f"as its owner: rm -r {SITE}")
    # Not --quiet: MkDocs would not count the warnings of --strict then.
    if _mkdocs("build", "--strict", quiet=quiet):
        return 1
    if not quiet:
        print(f"the site: {SITE / 'index.html'}\n`./tb docs --serve` serves it; search needs that")
    return 0


def _serve(port: int) -> int:
    try:
        with socket.create_server((_LOOPBACK, port)):
            pass
    except OSError as error:
        raise ScenarioError(
            "cannot be served",
            file="tb docs",
            key="--port",
            found=f"{port}: {os.strerror(error.errno or 0)}",
            allowed="a free port",
        ) from None
    try:
        return 1 if _mkdocs("serve", "--livereload", "--dev-addr", f"{_LOOPBACK}:{port}") else 0
    except KeyboardInterrupt:
        return 0


def _mkdocs(*words: str, quiet: bool = False) -> int:
    # Material prints a notice about a release of MkDocs that the pinned versions exclude.
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": str(_TOP)}
    command = [sys.executable, "-P", "-m", "mkdocs", *words]
    done = subprocess.run(command, cwd=_TOP, env=environment, stderr=subprocess.PIPE if quiet else None, check=False)
    if done.returncode and quiet:
        sys.stderr.buffer.write(done.stderr)
    return done.returncode


def _is_installed(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def _is_writable(folder: Path) -> bool:
    there = next(each for each in (folder, *folder.parents) if each.exists())
    return os.access(there, os.W_OK)
