"""Exit codes, help, and who is blamed for what."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from testbed.cli import main
from testbed.cli.commands import COMMANDS
from tests.support.fake_modules import install_fake
from workloads.errors import HostCapabilityError, InternalError, LabError, ScenarioError

_TOP = Path(__file__).resolve().parents[3]


@pytest.fixture
def as_root(monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 0)


def _run_raises(monkeypatch, error):
    def run_scenario(scenario, out, pcap, observer, **more):
        raise error

    install_fake(monkeypatch, "testbed.runs.run", run_scenario=run_scenario)


@pytest.mark.parametrize("words", [["--help"], ["run", "--help"], ["test", "--help"], ["test", "-h"], ["--version"]])
def test_help_and_version_exit_0(words, capsys):
    assert main(words) == 0
    assert capsys.readouterr().out


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_has_help_with_examples(name, capsys):
    assert main([name, "--help"]) == 0
    text = capsys.readouterr().out
    assert f"usage: tb {name}" in text
    assert "examples:\n" in text


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["bogus"], "tb: there is no command 'bogus'"),
        (["rnu"], "did you mean 'run'?"),
        (["run"], "tb run: the following arguments are required: SCENARIO"),
        (["run", "rack", "--sed", "1"], "tb run: there is no option --sed; did you mean '--seed'?"),
        (["run", "rack", "--seed", "x"], "found 'x'; allowed: a whole number from 0 to 2^63-1"),
        (["run", "nowhere"], "tb: scenario: no such scenario; found 'nowhere'"),
        (["run", "rack", "--set", "job.size=3"], "--set: job.size: not a whole number of elements; found 3 bytes"),
        (["demo", "--hosts", "1"], "found '1'; allowed: a whole number from 2 to 32"),
        (["demo", "--loss", "3"], "found '3'; a probability outside 0 to 1"),
        (["list", "nonsense"], "found 'nonsense'; allowed: scenarios, "),
        (["switch", "--program", "forward"], "the following arguments are required: --port"),
        (["replay", "/nonexistent"], "tb: /nonexistent: not a run directory; found no scenario.yaml in it"),
        (["run", "rack", "--real-limit", "-5s"], "argument --real-limit: found '-5s'; "),
        (["train", "rack", "--timeout", "-3s", "--", "true"], "argument --timeout: found '-3s'; "),
        (["timeline", "x", "--from", "-1ms"], "argument --from: found '-1ms'; "),
        (["demo", "--loss", "-.5%"], "argument --loss: found '-.5%'; "),
        (["train", "rack", "script.py"], "unrecognized arguments: script.py; what each rank runs stands behind --"),
        (
            ["train", "rack", "script.py", "--lr", "3"],
            "what each rank runs stands behind --, as `tb train SCENARIO -- script.py`",
        ),
        (["run", "rack", "--set", "job.size.x=3"], "job.size: is a value and has no keys; found 'x' below "),
        (["sweep", "/dev/null", "--seeds", "2"], "tb: /dev/null"),
        (["sweep", "rack", "--seeds", "2", "--out", __file__], "tb sweep: --out: is no folder; found "),
        (["run", "rack", "--set", "topology.hosts=600"], "a switch of netreduce sums at most 64 hosts"),
    ],
)
def test_usage_errors_exit_64(words, text, capsys):
    assert main(words) == 64
    out, err = capsys.readouterr()
    assert text in err
    assert not out


def test_no_command_shows_help_and_is_a_usage_error(capsys):
    assert main([]) == 64
    assert "commands:" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        (ScenarioError("bad", file="x.yaml", line=3), 64, "tb: x.yaml:3: bad"),
        (
            HostCapabilityError("Mininet", "install it: apt-get install mininet"),
            3,
            "tb: this machine lacks Mininet; install it: apt-get install mininet",
        ),
        (LabError("board7", "unreachable"), 75, "tb: board7: unreachable"),
    ],
)
def test_each_blame_has_its_exit_code(error, code, text, monkeypatch, capsys, as_root):
    _run_raises(monkeypatch, error)
    assert main(["run", "rack"]) == code
    assert capsys.readouterr().err == f"{text}\n"


def test_interruption_exits_130(monkeypatch, capsys, as_root):
    _run_raises(monkeypatch, KeyboardInterrupt())
    assert main(["run", "rack"]) == 130
    assert capsys.readouterr().err == "tb: interrupted\n"


def test_an_interruption_that_python_turned_into_another_error_is_one(monkeypatch, capsys, as_root):
    error = RuntimeError("Error calling __set_name__")
    error.__cause__ = KeyboardInterrupt()
    _run_raises(monkeypatch, error)
    assert main(["run", "rack"]) == 130
    assert capsys.readouterr().err == "tb: interrupted\n"


@pytest.mark.parametrize("command", [[sys.executable, "-P", "-m", "testbed"], [str(_TOP / "tb")]])
@pytest.mark.parametrize("words", [["list"], ["--help"], ["run", "rack", "--world", "simulated"]])
def test_an_interruption_while_python_starts_is_one_line(command, words, tmp_path):
    """The signal is there before Python is, and heard when Python can."""

    def interrupt() -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        os.kill(os.getpid(), signal.SIGINT)

    done = subprocess.run(
        [*command, *words], cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(_TOP)}, capture_output=True, text=True,
        preexec_fn=interrupt, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "tb: interrupted\n")
    assert not list(tmp_path.iterdir())


def test_too_little_memory_is_a_matter_of_the_machine(monkeypatch, capsys, as_root, tmp_path):
    monkeypatch.chdir(tmp_path)
    _run_raises(monkeypatch, MemoryError("Unable to allocate 4.00 GiB"))
    assert main(["run", "rack"]) == 3
    assert capsys.readouterr().err == (
        "tb: this machine lacks enough memory for tb run (Unable to allocate 4.00 GiB); smaller sizes need less: size, "
        "scale, workload.elements, number of jobs\n"
    )
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("error", [ZeroDivisionError("division by zero"), InternalError("a slot went missing")])
def test_an_unexpected_error_exits_70_and_can_be_repeated(error, monkeypatch, capsys, tmp_path, as_root):
    monkeypatch.chdir(tmp_path)
    _run_raises(monkeypatch, error)
    assert main(["run", "rack", "--seed", "5", "--out", "my run"]) == 70
    text = capsys.readouterr().err
    assert f"internal error: {type(error).__name__}: {error}" in text
    assert "run it again:  ./tb run rack --seed 5 --out 'my run'" in text
    assert "run directory: my run" in text
    traceback = (tmp_path / "my run" / "traceback.txt").read_text(encoding="utf-8")
    assert str(error) in traceback
    assert "run_scenario" in traceback


def test_the_traceback_goes_where_the_run_was_made(monkeypatch, tmp_path, as_root):
    monkeypatch.chdir(tmp_path)

    def run_scenario(scenario, out, pcap, observer, **more):
        Path("runs/new").mkdir(parents=True)
        Path("runs/latest").symlink_to("new")
        raise ValueError("oops")

    install_fake(monkeypatch, "testbed.runs.run", run_scenario=run_scenario)
    assert main(["run", "rack"]) == 70
    assert (tmp_path / "runs" / "new" / "traceback.txt").is_file()


def test_an_older_run_is_left_alone(monkeypatch, tmp_path, as_root):
    monkeypatch.chdir(tmp_path)
    Path("runs/old").mkdir(parents=True)
    Path("runs/latest").symlink_to("old")
    os.utime("runs/latest", (1, 1), follow_symlinks=False)
    _run_raises(monkeypatch, ValueError("oops"))
    assert main(["run", "rack"]) == 70
    assert not (tmp_path / "runs" / "old" / "traceback.txt").exists()
    assert list(tmp_path.glob("runs/*-crash/traceback.txt"))


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (
            ["run", "rack"],
            (
                "tb: this machine lacks root: network namespaces and packet sockets need it; try: sudo ./tb run rack "
                "(or add --world simulated, which needs no root)\n"
            ),
        ),
        (
            ["demo"],
            "tb: this machine lacks root: network namespaces and packet sockets need it; try: sudo ./tb demo\n",
        ),
    ],
)
def test_without_root_it_says_what_to_do(words, text, monkeypatch, capsys):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert main(words) == 3
    assert capsys.readouterr().err == text


def test_the_simulated_world_needs_no_root(monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    done = SimpleNamespace(exit_code=0, document={}, run_dir=Path("x"), captures=())
    install_fake(monkeypatch, "testbed.runs.run", run_scenario=lambda scenario, out, pcap, observer, **more: done)
    assert main(["run", "rack", "--world", "simulated", "--quiet"]) == 0


_HEAVY = ("numpy", "pydantic", "yaml", "rich", "mininet", "scipy", "networkx", "matplotlib")


def imported_by(*calls: list[str]) -> set[str]:
    """Modules that these calls import, in a process of their own."""
    code = f"""
import contextlib, io, sys
from testbed.cli import main
for words in {list(calls)!r}:
    with contextlib.redirect_stdout(io.StringIO()):
        main(words)
print(*sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=_TOP, capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_no_help_imports_anything_heavy():
    """Time depends on the machine; what is imported does not."""
    loaded = imported_by(["--help"], *([name, "--help"] for name in COMMANDS))
    assert loaded & set(_HEAVY) == set()
    ours = {name for name in loaded if name.startswith(("testbed.", "workloads", "switch_nodes", "topologies"))}
    assert {name for name in ours if not name.startswith(("testbed.cli", "testbed.terminal"))} <= {
        "testbed.kernel", "testbed.kernel.overdue", "testbed.kernel.room", "testbed.kernel.scratch",
        "testbed.reading", "testbed.reading.problems", "testbed.reading.units",
        "testbed.scenario", "testbed.scenario.protocols", "testbed.scenario.protocols.known",
        "testbed.scenario.protocols.named", "testbed.scenario.protocols.names", "workloads",
        "workloads.blame", "workloads.collectives", "workloads.collectives.operations",
        "workloads.errors", "workloads.lazily", "workloads.native", "workloads.native.compiled",
        "workloads.native.places", "workloads.plugins", "workloads.trusted", "workloads.visible", "switch_nodes",
        "switch_nodes.fpga", "switch_nodes.fpga.cards", "switch_nodes.fpga.faults",
    }  # fmt: skip


_NEVER_LOOKED_UP = (
    "testbed.worlds", "testbed.runs", "testbed.bench", "testbed.hunt", "testbed.lab", "testbed.report",
    "testbed.figures", "testbed.history", "testbed.captures",
)  # fmt: skip
_CONTRACT = {name for room in ("bench", "checkers", "hunt") for name in (f"testbed.{room}", f"testbed.{room}.contract")}
_CONTRACT |= {"testbed.hunt.search_mark"}
"""what the class of a protocol derives from"""
_MACHINES = re.compile(
    r"switch_nodes\.\w+\.(program|core|fast|registers)|workloads\.\w*\.?(worker|host|machine|endpoint)$"
    r"|workloads\.collectives\.(registry|base)|switch_nodes\.(own_program|registry|program)$|testbed\.checkers\.stock"
)
"""what runs a protocol, and what judges a run"""
_INTERFACES = {"workloads.machine", "workloads.transports.endpoint"}


@pytest.mark.parametrize("words", [["validate", "rack"], ["validate", "rack", "--resolved"], ["list"]])
def test_looking_things_up_imports_no_world_no_report_and_no_sweep(words):
    loaded = imported_by(words)
    assert {name for name in loaded if name.startswith(_NEVER_LOOKED_UP)} <= _CONTRACT
    assert {name for name in loaded if name.split(".")[0] in {*_HEAVY} - {"yaml", "numpy"}} == set()
    assert {name for name in loaded if _MACHINES.match(name)} - _INTERFACES == set()


@pytest.mark.parametrize("words", [["validate", "rack"], ["validate", "ring"], ["validate", "rack", "--json"]])
def test_validating_imports_the_protocols_that_the_scenario_names_and_no_arrays(words):
    loaded = imported_by(words)
    assert "numpy" not in loaded
    assert len({name for name in loaded if re.fullmatch(r"testbed\.protocols\.\w+", name)} - {_PARTS}) == 1
    higher = ("testbed.bench", "testbed.checkers", "testbed.hunt", "topologies.routing.gradients")
    assert {name for name in loaded if name.startswith(higher)} == _CONTRACT


_PARTS = "testbed.protocols.parts"


@pytest.mark.parametrize("what", ["protocols", "programs", "scenarios", "faults", "sweeps", "topologies"])
def test_listing_imports_no_arrays(what):
    """NumPy alone takes a third of the time that a list may take."""
    assert "numpy" not in imported_by(["list", what])


def test_a_closed_pipe_is_no_crash():
    reader = subprocess.Popen(["true"], stdin=subprocess.PIPE)
    reader.wait()
    done = subprocess.run(
        [sys.executable, "-m", "testbed", "list"], cwd=_TOP, stdout=reader.stdin, stderr=subprocess.PIPE, text=True,
        check=False,
    )  # fmt: skip
    assert "Traceback" not in done.stderr
    assert "Exception" not in done.stderr


@pytest.mark.parametrize(
    "words", [["list"], ["run", "rack", "--world", "simulated"], ["doctor"], ["validate", "it's.yaml"]]
)
def test_a_python_without_our_packages_names_the_command_to_use(words: list[str], tmp_path: Path) -> None:
    """As of `python3 -m testbed` outside the environment. -S: no packages but Python's own."""
    done = subprocess.run(
        [sys.executable, "-S", "-P", "-m", "testbed", *words], cwd=tmp_path, env={"PYTHONPATH": str(_TOP)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 3
    found = re.fullmatch(
        r"tb: this machine lacks the Python package \w+ for \S+; ./tb makes an environment that has it: (.*)\n",
        done.stderr,
    )
    assert found is not None, done.stderr
    assert shlex.split(found[1]) == [str(_TOP / "tb"), *words]
    assert list(tmp_path.iterdir()) == []


def test_a_missing_module_of_ours_is_our_own_fault(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "testbed.cli.catalogue", None)
    assert main(["list"]) == 70
    assert "internal error: ModuleNotFoundError" in capsys.readouterr().err


@pytest.mark.parametrize(
    "error", [OSError(24, "Too many open files"), InternalError("node h4: [Errno 24] Too many open files")]
)
def test_a_limit_of_open_files_is_this_machines_lack(error, monkeypatch, capsys, as_root):
    _run_raises(monkeypatch, error)
    assert main(["run", "rack"]) == 3
    assert "enough open files for tb run" in capsys.readouterr().err
