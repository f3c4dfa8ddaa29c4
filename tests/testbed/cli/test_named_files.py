"""Files and folders that options name: links, devices, pipes, long names, and names that are not UTF-8."""

from __future__ import annotations

import json
import os
import stat
import threading
from pathlib import Path

import pytest

from testbed.cli import main

_CHAIN = ["strategies", "alexnet", "--devices", "2", "--bandwidth", "10Gbps"]
_WRITERS = {
    "report": ["report", "RUN", "--out"],
    "compare": ["compare", "RUN", "RUN", "--html"],
    "timeline": ["timeline", "RUN", "--format", "svg", "--out"],
    "graph": ["graph", "rack", "--out"],
    "route": ["route", "grid-triangle", "--svg"],
    "dissector": ["dissector", "--out"],
    "csv": [*_CHAIN, "--csv"],
    "plot": [*_CHAIN, "--plot"],
    "bitstream": ["card", "bitstream", "--out"],
}
"""Every command that writes a file which one of its options names."""


@pytest.fixture(scope="module")
def run_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("run") / "run"
    assert main(["-q", "run", "rack", "--world", "simulated", "--set", "job.size=40kB", "--out", str(out)]) == 0
    return out


def _words(command: str, run_dir: Path, file: Path) -> list[str]:
    return ["-q", *(str(run_dir) if word == "RUN" else word for word in _WRITERS[command]), str(file)]


@pytest.mark.parametrize("command", _WRITERS)
def test_a_link_and_a_pipe_stay_what_they_are(command: str, run_dir: Path, tmp_path: Path) -> None:
    plain, link, dangling, pipe = (tmp_path / name for name in ("plain", "link", "dangling", "pipe"))
    plain.write_text("before")
    plain.chmod(0o640)
    link.symlink_to("plain")
    dangling.symlink_to("fresh")
    os.mkfifo(pipe)
    came = list[bytes]()
    reader = threading.Thread(target=lambda: came.append(pipe.read_bytes()), daemon=True)
    reader.start()
    for file in (plain, link, dangling, pipe):
        assert main(_words(command, run_dir, file)) == 0
    reader.join()
    written = plain.read_bytes()
    assert len(written) > 100
    assert (tmp_path / "fresh").read_bytes() == written == came[0]
    assert (link.is_symlink(), dangling.is_symlink(), pipe.is_fifo()) == (True, True, True)
    assert stat.S_IMODE(plain.stat().st_mode) == 0o640
    assert sorted(path.name for path in tmp_path.iterdir()) == ["dangling", "fresh", "link", "pipe", "plain"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make device nodes")
@pytest.mark.parametrize("command", _WRITERS)
def test_a_device_is_written_to_and_stays(
    command: str, run_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nodes of our own, which only look like /dev/null and /dev/full."""
    for name, minor, code in (("null", 3, 0), ("full", 7, 64)):
        node = tmp_path / name
        os.mknod(node, 0o600 | stat.S_IFCHR, os.makedev(1, minor))
        (tmp_path / f"to-{name}").symlink_to(name)
        for file in (node, tmp_path / f"to-{name}"):
            assert main(_words(command, run_dir, file)) == code
            assert node.is_char_device()
            err = capsys.readouterr().err
            assert ("cannot be written; found No space left on device" in err) is (code == 64)


_LONG = "x" * 300
_READERS = (
    ["run", "NAME"], ["run", "NAME.yaml"], ["run", "rack", "--check", "NAME.py:f"],
    ["run", "rack", "--set", "switch.program=NAME.py:P"], ["run", "rack", "--set", "job.protocol=NAME.py:P"],
    ["validate", "NAME"], ["graph", "NAME"], ["route", "NAME"], ["sweep", "NAME", "--seeds", "2"], ["hunt", "NAME"],
    ["strategies", "NAME.yaml"], ["strategies", "alexnet", "--scenario", "NAME"], ["steering", "NAME"],
    ["shell", "NAME"], ["demo", "--out", "NAME"], ["run", "rack", "--world", "simulated", "--out=NAME"],
    ["train", "rack", "--out", "NAME", "--", "true"], ["up", "rack", "--place", "NAME"], ["down", "--place", "NAME"],
    ["sweep", "rack", "--seeds", "2", "--out", "NAME"], ["hunt", "--out", "NAME"], ["replay", "NAME"],
    ["report", "NAME"], ["compare", "NAME", "NAME"], ["timeline", "NAME"], ["lab", "check", "--inventory", "NAME"],
    ["bench", "ina", "--csv", "NAME"], ["switch", "--program", "forward", "--port", "lo", "--config", "NAME"],
    *([*words, "NAME"] for words in _WRITERS.values()),
)  # fmt: skip
"""Every command that takes a path; NAME stands for it."""


@pytest.mark.parametrize("name", [_LONG, "y/" * 2100], ids=["name", "path"])
@pytest.mark.parametrize("words", _READERS, ids=" ".join)
@pytest.mark.protocols("ring")
def test_a_path_that_is_too_long_is_the_users_fault(
    words: list[str], name: str, run_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    assert main([str(run_dir) if word == "RUN" else word.replace("NAME", name) for word in words]) == 64
    err = capsys.readouterr().err
    assert name[:50] in err
    assert "Traceback" not in err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "words",
    [
        ["run", "rack", "--out", ""], ["run", "rack", "--out="], ["report", ""], ["compare", "a", "b", "--html", ""],
        ["sweep", "rack", "--seeds", "2", "--out", ""], ["bench", "ina", "--csv", ""], ["graph", "rack", "--out", ""],
        ["lab", "check", "--inventory", ""], ["up", "rack", "--place", ""], ["replay", ""], ["timeline", ""],
    ],
    ids=" ".join,
)  # fmt: skip
def test_an_empty_path_is_not_this_folder(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 64
    assert "found ''; allowed: the path of a file or folder" in capsys.readouterr().err


def test_a_path_that_may_not_be_read_is_named_with_its_option(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As of users other than root, whom `Path.is_file` answers with an error."""

    def refuse(path: Path) -> bool:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Path, "is_file", refuse)
    assert main(["report", "secret/run"]) == 64
    assert capsys.readouterr().err == (
        "tb: secret/run/scenario.yaml: cannot be used; found Permission denied; allowed: a path that this user can "
        "read and write\n"
    )


_ODD = os.fsdecode(b"caf\xe9")
_CHECKER = """\
from testbed.history.verdict import CheckResult, Verdict

def f(context):
    return CheckResult("f", Verdict.PASS, "fine")
"""
_SCENARIO = "name: odd\nworld: simulated\ntopology: {kind: rack, hosts: 2}\njob: {size: 4kB}\n"


@pytest.mark.parametrize(
    "words",
    [
        ["run", "ODD/ODD.yaml", "--out", "ODD-run"],
        ["run", "ODD/ODD.yaml", "--check", "ODD.py:f", "--out", "ODD-checked"],
        [
            "sweep",
            "ODD/ODD.yaml",
            "rack",
            "--seeds",
            "2",
            "--plot",
            "--matrix",
            "--world",
            "simulated",
            "--out",
            "ODD-s",
        ],
        ["sweep", "ODD/ODD.yaml", "rack", "--seeds", "2", "--world", "simulated", "--json"],
        ["validate", "ODD/ODD.yaml", "--json"],
        ["replay", "RUN", "--out", "ODD-again"],
        ["hunt", "ODD/ODD.yaml", "--schedules", "1", "--set", "transport.timeout=14", "--out", "ODD-hunt"],
        *([*words, "ODD-file"] for words in _WRITERS.values()),
    ],
    ids=" ".join,
)
@pytest.mark.protocols("ring")
def test_paths_need_not_be_utf_8(
    words: list[str], run_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / _ODD).mkdir()
    (tmp_path / _ODD / f"{_ODD}.yaml").write_text(_SCENARIO)
    (tmp_path / f"{_ODD}.py").write_text(_CHECKER)
    assert main(["-q", *(str(run_dir) if word == "RUN" else word.replace("ODD", _ODD) for word in words)]) == 0


def test_the_commands_that_repeat_it_can_be_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / f"{_ODD}.yaml").write_text(_SCENARIO)
    (tmp_path / f"{_ODD}.py").write_text(_CHECKER)
    assert main(["run", f"{_ODD}.yaml", "--check", f"{_ODD}.py:f", "--out", f"{_ODD}-run"]) == 0
    assert r"Run directory: $'caf\xe9-run'" in capsys.readouterr().out
    document = json.loads((tmp_path / f"{_ODD}-run" / "result.json").read_text())
    assert document["replay"] == r"tb run $'caf\xe9-run/scenario.yaml' --check $'caf\xe9.py:f'"
