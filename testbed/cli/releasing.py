"""`tb release --dry-run`: checks of a release, in the order of their cost. It writes `build/release` and uploads
nothing."""

from __future__ import annotations

import argparse
import io
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

from testbed import __version__
from workloads.errors import HostCapabilityError

__all__ = ["configure_release", "run_release"]

_TOP = Path(__file__).resolve().parents[2]
_OUT = Path("build") / "release"
_CHANGES = Path("docs") / "changelog.md"
_PACKAGES = ("playbooks", "switch_nodes", "testbed", "topologies", "workloads")
_SECTION = re.compile(r"(?ms)^## \[(?P<version>[^]]+)\](?: - (?P<date>\d{4}-\d\d-\d\d))?\n(?P<text>.*?)(?=^## |\Z)")
_LINK = re.compile(r"\]\(([^)#\s]+)[^)]*\)")
_BACKEND = "import sys; from setuptools import build_meta; build_meta.build_sdist(sys.argv[1])"


class _Missing(Exception):
    """What a release lacks, with what to do about it."""


def configure_release(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "examples:\n  ./tb release --dry-run    build/release has the archive and the wheel\n"
    parser.add_argument(
        "--dry-run",
        action="store_true",
        required=True,
        help="check and build only; this command never uploads anything",
    )


def run_release(args: argparse.Namespace) -> int:
    """Exit code 1: something is missing. Every check runs, except that those of the wheel need a wheel."""
    if not (_TOP / "tests").is_dir():
        raise HostCapabilityError(
            "the sources of a release, which are not part of an installed package", "clone the repository"
        )
    missing = [name for name, check in _CHECKS.items() if not _passes(name, check)]
    if missing:
        print(f"not ready: {', '.join(missing)}")
    elif not args.quiet:
        print(f"ready: {__version__}; nothing was uploaded. By hand: twine upload {_OUT}/*")
    return 1 if missing else 0


def _passes(name: str, check: Callable[[Path], str]) -> bool:
    try:
        said, passed = check(_TOP), True
    except _Missing as lack:
        said, passed = str(lack), False
    print(f"{'ok' if passed else 'MISSING':<9}{name:<11}{said}", flush=True)
    return passed


def _version(top: Path) -> str:
    from packaging.version import InvalidVersion, Version

    try:
        Version(__version__)
    except InvalidVersion:
        raise _Missing(f"testbed/__init__.py: {__version__!r} is no version of PEP 440") from None
    cited = re.search(r"^version: (.+)$", (top / "CITATION.cff").read_text(encoding="utf-8"), re.M)
    if cited is None or cited[1] != __version__:
        raise _Missing(f"CITATION.cff: version: {cited and cited[1]}; testbed/__init__.py has {__version__}")
    if _git(top, "tag", "--list", f"v{__version__}"):
        raise _Missing(f"the tag v{__version__} is there already; choose the next version")
    return f"{__version__}, also in CITATION.cff; no tag v{__version__} yet"


def _changelog(top: Path) -> str:
    sections = {found["version"]: found for found in _SECTION.finditer((top / _CHANGES).read_text(encoding="utf-8"))}
    ours = sections.get(__version__)
    if ours is None or ours["date"] is None or not ours["text"].strip():
        raise _Missing(f"{_CHANGES}: no section `## [{__version__}] - YYYY-MM-DD` with text")
    if (waiting := sections.get("Unreleased")) and waiting["text"].strip():
        raise _Missing(f"{_CHANGES}: [Unreleased] has text; move it to [{__version__}], or choose the next version")
    return f"{_CHANGES}: [{__version__}] of {ours['date']}"


def _tree(top: Path) -> str:
    if changed := _git(top, "status", "--porcelain").splitlines():
        raise _Missing(f"not committed: {', '.join(line[3:] for line in changed[:5])}{' ...' * (len(changed) > 5)}")
    return f"all is committed; HEAD is {_git(top, 'rev-parse', '--short', 'HEAD')}"


def _readme(top: Path) -> str:
    """It renders, and its links lead to files that are there."""
    from markdown_it import MarkdownIt

    text = (top / "README.md").read_text(encoding="utf-8")
    page = MarkdownIt("commonmark").enable("table").render(text)
    gone = sorted({link for link in _LINK.findall(text) if ":" not in link and not (top / link).exists()})
    if gone or "<h1>" not in page:
        raise _Missing(f"README.md: {f'no file {gone[0]}' if gone else 'no heading'}")
    return f"README.md renders as Markdown, {page.count('<a ') + page.count('<img ')} links and pictures"


def _archive(top: Path) -> str:
    """Of the committed files: what lies about in the folder is not in it."""
    shutil.rmtree(top / _OUT, ignore_errors=True)
    (top / _OUT).mkdir(parents=True)
    with tempfile.TemporaryDirectory() as folder:
        committed = subprocess.run(
            ["git", "-C", top, "archive", "--format=zip", "HEAD"], capture_output=True, check=False
        )
        if committed.returncode:
            raise _Missing(f"git archive: {committed.stderr.decode(errors='replace').strip()}")
        with zipfile.ZipFile(io.BytesIO(committed.stdout)) as files:
            files.extractall(folder)
        _call("sdist", [sys.executable, "-P", "-c", _BACKEND, str(top / _OUT)], folder)
    (built,) = (top / _OUT).glob("*.tar.gz")
    with tarfile.open(built) as archive:
        held = {name.partition("/")[2] for name in archive.getnames()}
    return f"{built.relative_to(top)}, {_all_of(top, held, 'the archive')} files of the packages"


def _wheel(top: Path) -> str:
    """Of the archive, so that the archive is complete."""
    sources = list((top / _OUT).glob("*.tar.gz"))
    if not sources:
        raise _Missing("it is built from the archive")
    pip = [sys.executable, "-P", "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    _call("wheel", [*pip, "--wheel-dir", str(top / _OUT), str(sources[0])], "/")
    (built,) = (top / _OUT).glob("*.whl")
    with zipfile.ZipFile(built) as archive:
        held = set(archive.namelist())
    return f"{built.relative_to(top)}, {_all_of(top, held, 'the wheel')} files of the packages"


def _metadata(top: Path) -> str:
    """The rules of a package index, as `twine check` applies them."""
    from packaging.metadata import Metadata

    wheels = list((top / _OUT).glob("*.whl"))
    if not wheels:
        raise _Missing("they are read from the wheel")
    with zipfile.ZipFile(wheels[0]) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        try:
            read = Metadata.from_email(archive.read(name), validate=True)
        except ExceptionGroup as errors:
            raise _Missing("; ".join(str(error) for error in errors.exceptions)) from None
    lacks = [
        field
        for field, value in {
            "version": str(read.version) == __version__,
            "summary": read.summary,
            "license": read.license_expression or read.license,
            "requires-python": read.requires_python,
            "description": read.description,
            "description-content-type: text/markdown": str(read.description_content_type).startswith("text/markdown"),
        }.items()
        if not value
    ]
    if lacks:
        raise _Missing(f"setup.cfg gives no {', '.join(lacks)}")
    return f"{read.name} {read.version}, Python {read.requires_python}, {len(read.requires_dist or [])} requirements"


_CHECKS = {
    "version": _version,
    "changelog": _changelog,
    "tree": _tree,
    "readme": _readme,
    "sdist": _archive,
    "wheel": _wheel,
    "metadata": _metadata,
}


def _all_of(top: Path, held: set[str], where: str) -> int:
    """How many committed files of the packages are held. Raises for one that is not."""
    ours = _git(top, "ls-files", *_PACKAGES).splitlines()
    if absent := [name for name in ours if name not in held]:
        raise _Missing(f"{where} lacks {absent[0]}{f' and {len(absent) - 1} more' if len(absent) > 1 else ''}")
    return len(ours)


def _git(top: Path, *words: str) -> str:
    return _call("git", ["git", "-C", str(top), *words], top)


def _call(what: str, command: list[str], folder: Path | str) -> str:
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace", check=False)
    except FileNotFoundError:
        raise HostCapabilityError(f"the program {command[0]}", f"apt-get install {command[0]}") from None
    if done.returncode:
        last = next(iter(_ends(done.stderr)), f"exit code {done.returncode}")
        raise _Missing(f"{what} failed: {last}")
    return done.stdout.rstrip()


def _ends(text: str) -> Iterator[str]:
    return (line.strip() for line in reversed(text.splitlines()) if line.strip())
