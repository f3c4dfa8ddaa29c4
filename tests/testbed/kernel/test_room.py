"""A full disk and a limit of memory are this machine's lacks: exit 3, with the path or the figure."""

from __future__ import annotations

import errno
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from testbed.kernel.room import lack_of, needs_room
from workloads.errors import HostCapabilityError

ROOT = Path(__file__).resolve().parents[3]
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="root only mounts")


def test_what_is_no_lack_stays_what_it_is(tmp_path: Path) -> None:
    assert lack_of(OSError(errno.EACCES, "no"), tmp_path) is None
    assert lack_of(ImportError("no module named x"), tmp_path) is None
    with pytest.raises(PermissionError), needs_room(tmp_path):
        raise PermissionError(errno.EACCES, "no")


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
def test_no_room_names_the_file_and_what_is_left(tmp_path: Path, number: int) -> None:
    with pytest.raises(HostCapabilityError) as caught, needs_room(tmp_path):
        raise OSError(number, os.strerror(number), str(tmp_path / "x"))
    assert str(caught.value).startswith(f"this machine lacks room in {tmp_path / 'x'} ({os.strerror(number)}, ")
    assert str(caught.value).endswith(" bytes are free); make room there, or name another folder: --out DIR")


@pytest.mark.parametrize(
    "error",
    [
        MemoryError("Unable to allocate 4.00 GiB"),
        OSError(errno.ENOMEM, "Cannot allocate memory"),
        ImportError("libx.so: failed to map segment from shared object"),
    ],
)
def test_too_little_memory_is_told_as_such(tmp_path: Path, error: Exception) -> None:
    assert str(lack_of(error, tmp_path, "tb run")).startswith("this machine lacks enough memory for tb run")


def tb(*words: str, before: str = "true", wrap: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    """The command line after a shell command, in a process of its own."""
    command = shlex.join([sys.executable, "-P", "-m", "testbed", *words])
    return subprocess.run(
        [*wrap, "sh", "-c", f"{before} && exec {command}"], capture_output=True, text=True, timeout=120, check=False,
        env=os.environ | {"PYTHONPATH": str(ROOT)}, cwd=ROOT,
    )  # fmt: skip


@as_root
@pytest.mark.parametrize("size", ["4k", "40k", "1m"])
@pytest.mark.parametrize("world", ["simulated", pytest.param("emulated", marks=pytest.mark.root)])
def test_a_full_disk_under_the_run_directory(tmp_path: Path, size: str, world: str) -> None:
    """A small disk of its own, in a mount namespace: it is gone with the process."""
    mount = f"mount -t tmpfs -o size={size} none {shlex.quote(str(tmp_path))}"
    done = tb(
        "run",
        "rack",
        "--world",
        world,
        "--set",
        "dilation=1",
        "--out",
        str(tmp_path / "run"),
        "-q",
        before=mount,
        wrap=("unshare", "-m"),
    )
    assert (done.returncode, done.stdout) == (3, ""), done.stderr
    assert done.stderr.startswith(f"tb: this machine lacks room in {tmp_path / 'run'}"), done.stderr
    assert "No space left on device" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("kib", [60_000, 200_000, 400_000])
def test_a_limit_of_memory(tmp_path: Path, kib: int) -> None:
    words = ["run", "rack", "--world", "simulated", "--out", str(tmp_path / "run"), "-q"]
    done = tb(*words, before=f"ulimit -v {kib}")
    assert (done.returncode, done.stdout) == (3, ""), done.stderr
    assert f"enough memory for tb run (limited to {kib * 1024:,} bytes by ulimit -v)" in done.stderr


def test_what_does_not_fit_into_it(tmp_path: Path) -> None:
    words = ["run", "rack", "--world", "simulated", "--set", "job.size=1GB", "--out", str(tmp_path / "run"), "-q"]
    done = tb(*words, before="ulimit -v 700000")
    assert (done.returncode, done.stdout) == (3, ""), done.stderr
    assert done.stderr.startswith("tb: this machine lacks memory: rack takes about 11.5 GB "), done.stderr
    assert "and 717 MB are available" in done.stderr


@as_root
def test_what_is_free_is_told_of_the_file_system_that_refused(tmp_path: Path) -> None:
    """One that is full, and another one with room, from where the command was started."""
    full = tmp_path / "full"
    full.mkdir()
    script = f"""
import errno, os, sys, tempfile
from pathlib import Path
from testbed.kernel.room import lack_of
full, here = Path({str(full)!r}), Path({str(tmp_path)!r})
def fill(path, named):
    try:
        with open(path, "wb", buffering=0) as file:
            while True:
                file.write(bytes(4096))
    except OSError as error:
        return str(lack_of(OSError(error.errno, error.strerror, *([str(path)] if named else [])), where))
for where, named in ((here, True), (full, False)):
    print(fill(full / "x", named))
    os.remove(full / "x")
where, tempfile.tempdir = here, str(full)
print(fill(full / "x", False))
where, tempfile.tempdir = here, str(here)
os.chdir(here)
print(fill(full / "x", False))
"""
    command = shlex.join([sys.executable, "-P", "-c", script])
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", f"mount -t tmpfs -o size=64k none {full} && exec {command}"],
        capture_output=True, text=True, timeout=120, check=True, env=os.environ | {"PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    named, under_it, temporary, unknown = done.stdout.splitlines()
    lack, none = "this machine lacks room in ", "(No space left on device, 0 bytes are free); make room there, or "
    assert named == f"{lack}{full}/x {none}name another folder: --out DIR"
    assert under_it == f"{lack}{full} {none}name another folder: --out DIR"
    assert temporary == f"{lack}{full} {none}set TMPDIR to another folder"
    assert "bytes are free" not in unknown, "none that has room is blamed"


@as_root
def test_a_file_system_without_inodes_says_so(tmp_path: Path) -> None:
    script = f"""
import os
from pathlib import Path
from testbed.kernel.room import lack_of
folder = Path({str(tmp_path)!r})
try:
    for number in range(1000):
        (folder / str(number)).touch()
except OSError as error:
    print(lack_of(error, Path("/")))
"""
    command = shlex.join([sys.executable, "-P", "-c", script])
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", f"mount -t tmpfs -o nr_inodes=20 none {tmp_path} && exec {command}"],
        capture_output=True, text=True, timeout=120, check=True, env=os.environ | {"PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert "(No space left on device, no file more can be made)" in done.stdout
