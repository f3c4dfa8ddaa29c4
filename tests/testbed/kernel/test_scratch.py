"""Folders for a while: private, and found again when their process was killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from testbed.kernel.processes import boot_id, descendants, end_processes, identify, pid_namespace
from testbed.kernel.scratch import _is_ours, make_scratch, remove_dead_scratch, scratch

ROOT = Path(__file__).resolve().parents[3]


def test_it_is_private_and_removed_at_the_end() -> None:
    with scratch() as folder:
        assert folder.parent == Path(tempfile.gettempdir())
        assert folder.stat().st_mode & 0o777 == 0o700
        (folder / "x").write_text("x")
        assert f"folder {folder}" not in remove_dead_scratch([folder.parent]), "its process lives"
    assert not folder.exists()


def test_one_of_a_killed_process_is_removed(tmp_path: Path) -> None:
    script = f"""
import os, signal
from pathlib import Path
from testbed.kernel.scratch import make_scratch
folder = make_scratch(Path({str(tmp_path)!r}))
(folder / "site").mkdir()
(folder / "site" / "workloads").symlink_to("/etc")
os.kill(os.getpid(), signal.SIGKILL)
"""
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-P", "-c", script], env=environment, check=False)
    assert done.returncode == -signal.SIGKILL
    (left,) = tmp_path.iterdir()
    assert remove_dead_scratch([tmp_path]) == [f"folder {left}"]
    assert not left.exists()
    assert Path("/etc/hostname").exists(), "links are not followed"


def _name(*, pid: int = 0, start: int = 0, namespace: int | None = None, boot: str = "") -> str:
    own = identify(os.getpid())
    assert own is not None
    inode = pid_namespace() if namespace is None else namespace
    return f"ina-{pid or own.pid}-{start or own.start}-{inode}-{boot or boot_id()[:8]}-abc"


@pytest.mark.parametrize(
    ("name", "removed"),
    [
        (_name(), False),
        (_name(start=1), True),
        (_name(boot="00000000"), True),
        (_name(start=1, namespace=1), False),
        ("ina-1000", False),
        ("ina-shell-abc", False),
        ("other", False),
    ],
    ids=["lives", "number of another one by now", "before a boot", "cannot be seen", "tb up", "old", "foreign"],
)
def test_only_what_a_dead_process_of_ours_made_goes(tmp_path: Path, name: str, removed: bool) -> None:
    (tmp_path / name).mkdir(mode=0o700)
    assert bool(remove_dead_scratch([tmp_path])) is removed
    assert (tmp_path / name).exists() is not removed


def test_links_files_and_open_folders_of_that_name_stay(tmp_path: Path) -> None:
    inside, target = tmp_path / "inside", tmp_path / "target"
    inside.mkdir()
    target.mkdir(mode=0o700)
    (target / "x").write_text("x")
    name = _name(start=1)
    (inside / name).symlink_to(target)
    (inside / f"{name}2").write_text("x")
    (inside / f"{name}3").mkdir()
    os.chmod(inside / f"{name}3", 0o777)
    if os.geteuid() == 0:
        (inside / f"{name}4").mkdir(mode=0o700)
        os.chown(inside / f"{name}4", 65534, 65534)
    before = sorted(inside.iterdir())
    assert remove_dead_scratch([inside]) == []
    assert sorted(inside.iterdir()) == before
    assert (target / "x").exists()


def test_the_folder_is_known_from_the_moment_it_is_there(tmp_path: Path) -> None:
    own = identify(os.getpid())
    assert own is not None
    assert make_scratch(tmp_path).name.startswith(_name().removesuffix("abc"))


def test_a_training_that_was_killed_leaves_nothing_that_cleanup_does_not_know(tmp_path: Path) -> None:
    """Its socket and its ranks' Python lie there."""
    words = ["train", "rack", "--world", "simulated", "--out", "run", "--", "sh", "-c", "touch started; sleep 300"]
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "testbed", *words], cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    end = time.monotonic() + 200
    while not (tmp_path / "started").exists() and time.monotonic() < end:
        time.sleep(0.1)
    found = identify(process.pid)
    assert found is not None
    ranks = descendants(process.pid)
    process.kill()
    process.wait()
    end_processes(ranks)
    left = list(Path("/tmp").glob(f"ina-{found.pid}-{found.start}-*"))
    assert [sorted(path.name for path in folder.iterdir()) for folder in left] == [["ranks.sock", "site"]]
    assert f"folder {left[0]}" in remove_dead_scratch()
    assert not left[0].exists()


def test_one_that_its_process_removes_meanwhile_is_no_problem(tmp_path: Path) -> None:
    gone = make_scratch(tmp_path)
    with os.scandir(tmp_path) as entries:
        (entry,) = entries
    gone.rmdir()
    assert not _is_ours(entry)
