"""The stage itself, without debootstrap: what it clones, and that one step really runs in namespaces of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.bareroot import __main__ as stage
from tests.bareroot.root import StageError


def _git(folder: Path, *words: str) -> str:
    who = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    return subprocess.run(["git", "-C", str(folder), *who, *words], check=True, capture_output=True, text=True).stdout


needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="no git; only the stage itself needs it")


@needs_git
def test_the_committed_head_is_cloned_and_nothing_that_lies_about(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    top, root = tmp_path / "top", tmp_path / "root"
    top.mkdir()
    _git(top, "init", "--quiet")
    (top / "committed").touch()
    _git(top, "add", "committed")
    _git(top, "commit", "--quiet", "-m", "one")
    (top / "loose").touch()
    monkeypatch.setattr(stage, "_TOP", top)
    stage._clone(root)
    assert sorted(path.name for path in (root / "srv/ina-testbed").iterdir()) == [".git", "committed"]


@needs_git
def test_what_git_cannot_clone_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stage, "_TOP", tmp_path / "absent")
    with pytest.raises(StageError, match=r"`git clone .* ended with exit status 128: .*absent"):
        stage._clone(tmp_path / "root")


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
class TestStep:
    @pytest.fixture
    def root(self, tmp_path: Path) -> Path:
        """This machine's programs, read only by custom, and nothing else of it."""
        for name in ("dev", "proc", "run", "sys", "srv/ina-testbed", "tmp", "usr", "etc"):
            (tmp_path / name).mkdir(parents=True)
        for name in ("bin", "lib", "lib64", "sbin"):
            (tmp_path / name).symlink_to(f"usr/{name}")
        return tmp_path

    def run(self, root: Path, script: str, *, offline: bool = True) -> None:
        stage._step(root, {"/usr": "/usr"}, ["sh", "-ec", script], {}, offline=offline)

    def test_it_has_namespaces_devices_and_a_root_of_its_own(
        self, root: Path, capfd: pytest.CaptureFixture[str]
    ) -> None:
        self.run(
            root,
            "pwd; ls /; ls /sys/class/net; ls /proc/self/fd >/dev/null; echo x >/dev/null; ls /proc | grep -c '^[0-9]'",
        )
        told = capfd.readouterr().out.split("\n")
        assert "/srv/ina-testbed" in told
        assert "home" not in told
        assert "lo" in told
        assert "eth0" not in told
        assert [int(line) for line in told if line.isdigit()][-1] <= 5, "processes"
        mounts = Path("/proc/self/mounts").read_text()
        assert str(root) not in mounts, "nothing is mounted outside"

    def test_mounts_can_be_made_private_there(self, root: Path) -> None:
        """As Mininet's mnexec does; in a chroot that fails."""
        self.run(root, "mount --make-rprivate /")

    def test_a_step_that_fails_fails_the_stage(self, root: Path) -> None:
        with pytest.raises(StageError, match="ended with exit status 7 on a bare bookworm"):
            self.run(root, "exit 7")


def test_the_training_is_that_of_the_readme() -> None:
    lines = (Path(__file__).resolve().parents[2] / "README.md").read_text(encoding="utf-8").splitlines()
    told = [line.partition("#")[0].split() for line in lines]
    assert told.count(["sudo", *stage.TRAIN]) == 1
    assert ["sudo", "./tb", "demo"] in told


def test_a_demo_that_takes_too_long_fails_the_stage(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    took_s = iter([20.0, 60.0, 61.0, 20.0])
    monkeypatch.setattr(stage, "_step", lambda root, binds, command, environment: next(took_s))
    with pytest.raises(StageError, match=r"call 3 of `./tb demo` took 61 s, allowed: 60 s"):
        stage._call_demos(tmp_path, {}, 4)
