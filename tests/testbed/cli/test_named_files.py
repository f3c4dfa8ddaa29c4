"""Files and folders that options name: links, devices, pipes, long names, and names that are not UTF-8."""

from __future__ import annotations

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
