"""Folders that others could change are refused by name, with their owner; nothing planted there is followed or
obeyed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from testbed.cli import main
from testbed.kernel.processes import boot_id, identify, pid_namespace
from workloads.errors import ScenarioError
from workloads.native import build
from workloads.trusted import distrust, make_folder, open_private, require_trusted, trusts_inside, write_file

MALLORY = 54_321
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make files of another user")


@pytest.fixture
def foreign(tmp_path: Path) -> Path:
    """A folder of another user's."""
    folder = tmp_path / "foreign"
    folder.mkdir()
    os.chown(folder, MALLORY, MALLORY)
    return folder


def test_our_own_folders_are_trusted(tmp_path: Path) -> None:
    assert distrust(tmp_path) is None
    assert distrust(tmp_path / "not" / "there") is None
    assert distrust(Path("/tmp/not-there-yet")) is None  # sticky on the way


@pytest.mark.parametrize("below", ["", "runs", "a/b/c"])
def test_another_users_folder_is_not(foreign: Path, below: str) -> None:
    assert distrust(foreign / below) == f"{foreign} belongs to user {MALLORY}"
    with pytest.raises(ScenarioError) as caught:
        require_trusted(foreign / below, file="--out")
    assert str(caught.value).startswith(
        f"--out: others could change what is in this folder; found {foreign} belongs to user {MALLORY}; "
        "allowed: a folder of user root (0)"
    )


@pytest.mark.parametrize(
    ("mode", "trusted"), [(0o755, True), (0o700, True), (0o777, False), (0o1777, False), (0o775, False)]
)
def test_so_is_one_where_others_can_write(tmp_path: Path, mode: int, trusted: bool) -> None:
    folder = tmp_path / "open"
    folder.mkdir()
    os.chown(folder, 0, MALLORY)
    folder.chmod(mode)
    assert (distrust(folder) is None) is trusted


@pytest.mark.parametrize(("mode", "trusted"), [(0o777, False), (0o1777, True)])
def test_on_the_way_it_may_be_sticky(tmp_path: Path, mode: int, trusted: bool) -> None:
    (tmp_path / "way" / "mine").mkdir(parents=True)
    (tmp_path / "way").chmod(mode)
    assert (distrust(tmp_path / "way" / "mine") is None) is trusted


def test_a_link_counts_as_what_it_leads_to_and_as_its_owners(tmp_path: Path, foreign: Path) -> None:
    (tmp_path / "ours").symlink_to(foreign)
    assert distrust(tmp_path / "ours") == f"{foreign} belongs to user {MALLORY}"
    (tmp_path / "theirs").symlink_to(tmp_path)
    os.chown(tmp_path / "theirs", MALLORY, MALLORY, follow_symlinks=False)
    assert distrust(tmp_path / "theirs" / "x") == f"{tmp_path / 'theirs'} belongs to user {MALLORY}"
    (tmp_path / "loop").symlink_to("loop")
    assert distrust(tmp_path / "loop") is None  # leads nowhere: nothing can be opened there


def test_of_files_in_a_folder_only_plain_ones_of_trusted_users_count(tmp_path: Path, foreign: Path) -> None:
    (tmp_path / "ours").write_text("")
    (tmp_path / "theirs").write_text("")
    os.chown(tmp_path / "theirs", MALLORY, MALLORY)
    (foreign / "elsewhere").write_text("")
    (tmp_path / "link").symlink_to(foreign / "elsewhere")
    (tmp_path / "near").symlink_to(tmp_path / "ours")
    found = {name: trusts_inside(tmp_path / name) for name in ("ours", "theirs", "link", "near")}
    assert found == {"ours": True, "theirs": False, "link": False, "near": True}


def test_who_called_sudo_is_trusted(foreign: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SUDO_UID", str(MALLORY))
    assert distrust(foreign) is None


def test_a_file_is_written_whole_and_follows_no_link(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("kept")
    (tmp_path / "result.json").symlink_to(victim)
    write_file(tmp_path / "result.json", "ours")
    assert (victim.read_text(), (tmp_path / "result.json").read_text()) == ("kept", "ours")
    assert not (tmp_path / "result.json").is_symlink()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["result.json", "victim"]


def test_a_private_file_is_made_and_opened_again(tmp_path: Path) -> None:
    path = tmp_path / "state" / "x.lock"
    for _ in range(2):
        os.close(open_private(path))
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("plant", ["link", "dangling", "hard link", "pipe", "folder"])
def test_what_somebody_planted_in_its_place_is_not_opened(tmp_path: Path, plant: str) -> None:
    path, target = tmp_path / "x.lock", tmp_path / "target"
    if plant != "dangling":
        target.write_text("kept")
    if plant == "hard link":
        os.link(target, path)
    elif plant == "pipe":
        os.mkfifo(path)
    elif plant == "folder":
        path.mkdir()
    else:
        path.symlink_to(target)
    with pytest.raises(ScenarioError, match="is not our own file"):
        open_private(path)
    assert target.exists() is (plant != "dangling")
    assert plant == "dangling" or target.read_text() == "kept"


def test_a_private_file_lies_in_no_folder_of_another_user(foreign: Path) -> None:
    with pytest.raises(ScenarioError, match="others could change what is in this folder"):
        open_private(foreign / "x.lock")


def test_a_file_that_cannot_be_written_names_itself(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="not/there") as caught:
        write_file(tmp_path / "not" / "there", "x")
    assert caught.value.filename == str(tmp_path / "not" / "there")


@pytest.mark.parametrize(
    "words", [["run", "rack", "--world", "simulated"], ["hunt", "--schedules", "1"], ["graph", "rack"]]
)
def test_nothing_is_written_to_another_users_folder(
    foreign: Path, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*words, "--out", str(foreign / "x.svg")]) == 64
    assert f"found {foreign} belongs to user {MALLORY}; allowed: a folder of user" in capsys.readouterr().err
    assert list(foreign.iterdir()) == []


def test_runs_below_another_users_folder_are_refused(
    foreign: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(foreign)
    assert main(["run", "rack", "--world", "simulated"]) == 64
    assert f"belongs to user {MALLORY}" in capsys.readouterr().err
    assert list(foreign.iterdir()) == []


def test_cleanup_obeys_no_ledger_that_another_user_planted(
    foreign: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    victim = subprocess.Popen(["sleep", "60"])
    try:
        own = identify(victim.pid)
        assert own is not None
        process = {"pid": own.pid, "start": own.start}
        owner = {"pid": 999_999_999, "start": 1, "boot": boot_id(), "pid_namespace": pid_namespace(), "run_dir": "/r"}
        lines = [{"kind": "owner", "run": "r", **owner}, {"kind": "process", "role": "node h1", **process}]
        (foreign / "r").mkdir()
        (foreign / "r" / "ledger.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        monkeypatch.setenv("INA_STATE_DIR", str(foreign))
        assert main(["cleanup"]) == 3
        told = capsys.readouterr().err
        assert f"a state folder that only we can change ({foreign}: {foreign} belongs to user {MALLORY})" in told
        assert "set INA_STATE_DIR to a folder of user root (0)" in told
        assert victim.poll() is None
        os.chown(foreign, 0, 0)
        for path in (foreign / "r", foreign / "r" / "ledger.jsonl"):
            os.chown(path, MALLORY, MALLORY)
        assert main(["cleanup"]) == 0  # a folder of theirs in ours is passed over
        assert victim.poll() is None
    finally:
        victim.kill()
        victim.wait()


@pytest.mark.parametrize("what", ["folder", "file"])
def test_no_library_is_loaded_that_another_user_could_have_made(tmp_path: Path, what: str) -> None:
    """In a process of its own: the libraries of this one are loaded."""
    if not build.native_status()["packet_io"].available:
        pytest.skip("no compiler")
    code = (
        "import sys, pathlib; from workloads.native import build\n"
        "build.cache_folders = lambda: iter([pathlib.Path(sys.argv[1])])\n"
        "build.load_library('packet_io'); print(build._status['packet_io'])"
    )

    def ask() -> str:
        done = subprocess.run(
            [sys.executable, "-P", "-c", code, str(tmp_path / "cache")], capture_output=True, text=True, check=True,
            env=os.environ | {"PYTHONPATH": str(Path(build.__file__).parents[2])},
        )  # fmt: skip
        return done.stdout

    assert "available=True" in ask()
    (made,) = (tmp_path / "cache").glob("packet_io-*.so")
    before = made.stat().st_ino
    os.chown(tmp_path / "cache" if what == "folder" else made, MALLORY, MALLORY)
    told = ask()
    if what == "folder":
        assert "available=False" in told
        assert f"belongs to user {MALLORY}" in told
    else:  # made anew, and that one is loaded
        assert "available=True" in told
        assert made.stat().st_ino != before
        assert made.stat().st_uid == 0


def test_folders_made_under_sudo_belong_to_the_caller(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SUDO_UID", str(MALLORY))
    (tmp_path / "before").mkdir()
    make_folder(tmp_path / "before" / "runs" / "first")
    owners = [(tmp_path / name).stat().st_uid for name in ("before", "before/runs", "before/runs/first")]
    assert owners == [0, MALLORY, MALLORY]
    make_folder(tmp_path / "before" / "runs" / "first")
    with pytest.raises(FileExistsError):
        make_folder(tmp_path / "before" / "runs" / "first", fresh=True)


def test_a_link_that_the_caller_puts_in_place_of_a_folder_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SUDO_UID", str(MALLORY))
    (tmp_path / "system").mkdir()
    monkeypatch.setattr(Path, "mkdir", lambda folder, **_: folder.symlink_to(tmp_path / "system"))
    with pytest.raises(OSError, match="runs"):
        make_folder(tmp_path / "runs")
    assert (tmp_path / "system").stat().st_uid == 0


def test_a_run_under_sudo_leaves_its_folders_to_the_caller(tmp_path: Path) -> None:
    """README's two commands follow each other: the second is without sudo, and writes to the same `runs`."""
    os.chown(tmp_path, MALLORY, MALLORY)
    command = ["-P", "-m", "testbed", "run", "rack", "--world", "simulated", "-q", "--set", "job.size=40kB"]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2]), "SUDO_UID": str(MALLORY)}
    first = subprocess.run([sys.executable, *command], cwd=tmp_path, env=environment, check=False)
    assert first.returncode == 0
    (run,) = [path for path in (tmp_path / "runs").iterdir() if not path.is_symlink()]
    assert {path.stat().st_uid for path in (run, run.parent)} == {MALLORY}
