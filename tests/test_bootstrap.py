"""`./tb` in a copy of its own, with stand-ins for dpkg, apt-get and the interpreter: no network, no root."""

from __future__ import annotations

import contextlib
import os
import resource
import shutil
import signal
import stat
import subprocess
import time
from pathlib import Path

import pytest

_TOP = Path(__file__).resolve().parents[1]

_PYTHON = r"""#!/bin/sh
# Stands in for python3: makes a "venv" that is this script again, and records what it is asked to do.
echo "python $*" >>"$CALLS"
case "$1 $2" in
"-m venv")
    for last; do :; done
    mkdir -p "$last/bin"
    cp "$0" "$last/bin/python"
    [ -z "${FAIL_VENV:-}" ] || { echo "ensurepip is not available"; exit 1; }
    ;;
"-c import pip") ;;
"-c import importlib.metadata"*) cat "$CALLS.torch" || exit 1 ;;
"-m pip")
    sleep "${PIP_SECONDS:-0}"
    [ -z "${FAIL_PIP:-}" ] || { echo "Could not find a version"; exit 1; }
    case "$*" in
    *requirements-torch.txt)
        [ -z "${FAIL_TORCH:-}" ] || { echo "No space left on device"; exit 1; }
        echo 2.13.0 >"$CALLS.torch"
        ;;
    *requirements-docs.txt) [ -z "${FAIL_DOCS:-}" ] || { echo "no such version"; exit 1; } ;;
    *requirements-rtl.txt) [ -z "${FAIL_RTL:-}" ] || { echo "no such wheel"; exit 1; } ;;
    esac
    ;;
"-m workloads.native.build")
    [ -z "${FAIL_BUILD:-}" ] || { echo "gcc: no such file"; exit "${FAIL_BUILD:-1}"; }
    ;;
"-P -m") shift 3; echo "testbed in $(pwd): $*" ;;
esac
"""

_DPKG = """#!/bin/sh
for package; do :; done
case " $INSTALLED " in *" $package "* | *" all "*) echo 'ii ' ;; *) exit 1 ;; esac
"""

_APT = """#!/bin/sh
echo "apt-get $*" >>"$CALLS"
case "$*" in
*update*) [ -z "${FAIL_UPDATE:-}" ] || { echo "Could not resolve the mirror"; exit 100; } ;;
*install*) [ -z "${FAIL_INSTALL:-}" ] || { echo "E: Unable to locate package"; exit 100; } ;;
esac
"""

_DF = """#!/bin/sh
echo 'Filesystem 1024-blocks Used Available Capacity Mounted on'
echo "/dev/vda 100000000 1 ${FREE_KB:-90000000} 1% /"
"""

_ID = """#!/bin/sh
echo "${AS_UID:-0}"
"""


class _Checkout:
    """A copy of `tb` with everything around it replaced."""

    def __init__(self, folder: Path) -> None:
        self.top, self.bin, self.calls_file = folder / "a checkout", folder / "bin", folder / "calls"
        self.top.mkdir()
        self.bin.mkdir()
        shutil.copy(_TOP / "tb", self.top / "tb")
        (self.top / "requirements.txt").write_text("numpy==1\n", encoding="utf-8")
        (self.top / "requirements-torch.txt").write_text("# torch\ntorch==2.13.0\n", encoding="utf-8")
        (self.top / "requirements-docs.txt").write_text("mkdocs==1\n", encoding="utf-8")
        (self.top / "requirements-rtl.txt").write_text("amaranth==0\n", encoding="utf-8")
        for name, text in (
            ("python3", _PYTHON), ("dpkg-query", _DPKG), ("apt-get", _APT), ("df", _DF), ("id", _ID)
        ):  # fmt: skip
            path = self.bin / name
            path.write_text(text, encoding="utf-8")
            path.chmod(0o755)
        self.env = {
            "PATH": f"{self.bin}:{os.environ['PATH']}",
            "TB_PYTHON": str(self.bin / "python3"),
            "CALLS": str(self.calls_file),
            "INSTALLED": "all",
        }

    def start(
        self, *words: str, script: Path | None = None, cwd: Path | None = None, **env: str
    ) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [str(script or self.top / "tb"), *words],
            cwd=cwd,
            env=self.env | env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            text=True,
        )

    def run(self, *words: str, **options) -> subprocess.CompletedProcess[str]:
        process = self.start(*words, **options)
        out, err = process.communicate(timeout=60)
        return subprocess.CompletedProcess(words, process.returncode, out, err)

    def calls(self) -> list[str]:
        """What was done since last asked, without what merely looks."""
        lines = self.calls_file.read_text(encoding="utf-8").splitlines() if self.calls_file.exists() else []
        self.calls_file.unlink(missing_ok=True)
        return [" ".join(line.split()[:3]) for line in lines if "-c import" not in line]

    def processes(self) -> list[str]:
        """That were started by this checkout and live."""
        mark, found = f"CALLS={self.calls_file}".encode(), []
        for folder in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if mark in (folder / "environ").read_bytes().split(b"\0"):
                    found.append((folder / "cmdline").read_text().replace("\0", " "))
        return found


@pytest.fixture
def checkout(tmp_path):
    return _Checkout(tmp_path)


def test_the_first_call_sets_up_and_the_second_does_nothing(checkout):
    first = checkout.run("list", "two words")
    assert first.returncode == 0
    assert first.stdout.endswith(": list two words\n")
    assert "set-up is complete" in first.stderr
    assert checkout.calls() == ["python -m venv", "python -m pip", "python -m compileall", "python -P -m"]
    second = checkout.run("list")
    assert (second.returncode, second.stderr) == (0, "")
    assert checkout.calls() == ["python -P -m"]


def test_only_missing_packages_are_installed(checkout):
    done = checkout.run(
        "list",
        INSTALLED="bridge-utils iperf3 iproute2 iputils-ping procps openssh-client ethtool clang llvm gcc libc6-dev "
        "python3-dev "
        "python3-venv tcpdump openvswitch-switch openssh-server verilator g++",
    )
    assert done.returncode == 0
    assert "installing Debian packages: mininet tshark libbpf-dev zlib1g-dev libdeflate-dev ..." in done.stderr
    text = (checkout.top / ".tb" / "setup.log").read_text(encoding="utf-8")
    assert "installing Debian packages: mininet tshark libbpf-dev zlib1g-dev libdeflate-dev\n" in text
    assert checkout.calls()[:2] == ["apt-get -q -o", "apt-get -q -y"]


@pytest.mark.parametrize(
    "changed", ["requirements.txt", "tb", "workloads/native/core.c", "switch_nodes/netreduce/absorb.c"]
)
def test_a_change_of_what_set_up_depends_on_sets_up_again(checkout, changed):
    for source in ("workloads/native/core.c", "switch_nodes/netreduce/absorb.c"):
        (checkout.top / source).parent.mkdir(parents=True)
        (checkout.top / source).touch()
    checkout.run("list")
    checkout.calls()
    with (checkout.top / changed).open("a", encoding="utf-8") as file:
        file.write("# changed\n")
    assert "set-up is complete" in checkout.run("list").stderr
    # Python packages come from the requirements alone.
    assert ("python -m pip" in checkout.calls()) == (changed == "requirements.txt")


@pytest.mark.parametrize(("status", "code"), [("70", 70), ("3", 3), ("1", 70)])
def test_native_code_that_a_compiler_cannot_build_ends_the_set_up(checkout, status, code):
    (checkout.top / "workloads" / "native").mkdir(parents=True)
    (checkout.top / "workloads" / "native" / "build.py").touch()
    done = checkout.run("list", FAIL_BUILD=status)
    assert done.returncode == code
    assert done.stdout == ""
    assert "| gcc: no such file" in done.stderr
    assert "set-up stopped: a C compiler is there and could not build the C core" in done.stderr
    assert "INA_NATIVE=0" in done.stderr
    assert "python -m workloads.native.build" in checkout.calls()
    # Not ready: the next call tries again.
    assert checkout.run("list", FAIL_BUILD=status).returncode == code
    assert checkout.run("list").returncode == 0


@pytest.mark.parametrize(
    ("env", "code", "texts"),
    [
        ({"FAIL_PIP": "1"}, 3, ["pip could not install", "| Could not find a version", "is the network up?"]),
        ({"FAIL_VENV": "1"}, 70, ["could not make", "| ensurepip is not available", "is python3-venv installed"]),
        (
            {"INSTALLED": "", "FAIL_INSTALL": "1", "FAIL_UPDATE": "1"},
            3,
            [
                "apt-get could not install the packages",
                "| E: Unable to locate package",
                "apt-get update had failed before that",
                "is the network up",
            ],
        ),
        (
            {"INSTALLED": "", "AS_UID": "1000"},
            3,
            ["these Debian packages are missing: mininet", "needs root, once: sudo", " list"],
        ),
        ({"TB_PYTHON": "/nonexistent/python3"}, 3, ["there is no interpreter /nonexistent/python3"]),
    ],
)
def test_a_failure_says_what_failed_and_what_to_try(checkout, env, code, texts):
    done = checkout.run("list", **env)
    assert done.returncode == code
    assert done.stdout == ""
    for text in texts:
        assert text in done.stderr
    # And nothing pretends to be ready: the next call, with the cause gone, sets up.
    assert checkout.run("list").returncode == 0


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (("test",), True),
        (("test", "-k", "requester"), True),
        (("test", "--fast"), False),
        (("train", "rack", "--world", "simulated", "--", "train.py", "--steps", "2"), True),
        (("train", "rack", "--", "python", "train.py"), False),  # a Python of the user's own
        (("train", "train.py"), False),
        (("train", "--"), False),
        (("demo",), False),
        (("run", "--", "train.py"), False),
        ((), False),
    ],
)
def test_torch_is_installed_once_for_what_runs_with_our_python_and_for_nothing_else(checkout, words, wanted):
    checkout.run("list")
    checkout.calls()
    first, second = (checkout.run(*words, TB_NO_RTL="1") for _ in range(2))
    assert (first.returncode, second.returncode) == (0, 0)
    assert first.stdout.endswith(f": {' '.join(words)}\n")
    assert ("installing PyTorch 2.13.0 (0.8 GB; several GB where" in first.stderr) == wanted
    assert second.stderr == ""
    assert checkout.calls() == [*["python -m pip"] * wanted, *["python -P -m"] * 2]


@pytest.mark.parametrize(
    ("env", "texts"),
    [
        ({"TB_NO_TORCH": "1"}, ["PyTorch is not installed: TB_NO_TORCH is set; tests of torch.distributed"]),
        ({"FREE_KB": "11718000"}, ["PyTorch is not installed: the package may take several GB", "less than 12 GB are"]),
        ({"FAIL_TORCH": "1"}, ["No space left on device", "PyTorch is not installed: pip could not install it"]),
    ],
)
def test_a_suite_without_torch_says_why_and_runs(checkout, env, texts):
    checkout.run("list")
    checkout.calls()
    for _ in range(2):
        done = checkout.run("test", TB_NO_RTL="1", **env)
        assert (done.returncode, done.stdout.endswith(": test\n")) == (0, True)
        for text in texts:
            assert text in done.stderr
        assert ("python -m pip" in checkout.calls()) == ("FAIL_TORCH" in env)
    assert "installing PyTorch" in checkout.run("test", FREE_KB="11719000").stderr, "as soon as it can be"


@pytest.mark.parametrize(
    ("words", "wanted"),
    [(("docs",), True), (("docs", "--serve"), True), (("docs", "--help"), False), (("test",), False)],
)
def test_the_packages_of_the_site_are_installed_once_and_for_docs_alone(checkout, words, wanted):
    checkout.run("list")
    checkout.calls()
    first, second = checkout.run(*words), checkout.run(*words)
    assert (first.returncode, second.returncode) == (0, 0)
    assert first.stdout.endswith(f": {' '.join(words)}\n")
    assert ("installing the packages of the site" in first.stderr) == wanted
    assert "packages of the site" not in second.stderr
    (checkout.top / "requirements-docs.txt").write_text("mkdocs==2\n", encoding="utf-8")
    assert ("installing the packages of the site" in checkout.run(*words).stderr) == wanted, "other versions"


def test_docs_without_packages_says_why_and_goes_on(checkout):
    """The command itself says what is missing."""
    checkout.run("list")
    for _ in range(2):
        done = checkout.run("docs", FAIL_DOCS="1")
        assert (done.returncode, done.stdout.endswith(": docs\n")) == (0, True)
        assert "no such version" in done.stderr
        assert "pip could not install the packages of the site; the whole log: " in done.stderr
    checkout.calls()
    assert checkout.run("docs", TB_NO_DOCS="1").stderr == ""
    assert checkout.calls() == ["python -P -m"]


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (("card", "golden", "rack", "--rtl"), True),
        (("card", "synth"), True),
        (("run", "rack", "--set", "switch.program=rtl"), True),
        (("test",), True),
        (("test", "--fast"), False),
        (("card", "golden", "rack"), False),
        (("run", "rack"), False),
    ],
)
def test_the_packages_of_the_hardware_are_installed_once_and_where_it_is_wanted(checkout, words, wanted):
    checkout.run("list")
    first, second = (checkout.run(*words, TB_NO_TORCH="1") for _ in range(2))
    assert (first.returncode, second.returncode) == (0, 0)
    assert ("installing the packages for the card's hardware" in first.stderr) == wanted
    assert "packages for the card's hardware" not in second.stderr
    (checkout.top / "requirements-rtl.txt").write_text("amaranth==1\n", encoding="utf-8")
    assert ("packages for the card's hardware" in checkout.run(*words, TB_NO_TORCH="1").stderr) == wanted


def test_hardware_without_packages_says_why_and_goes_on(checkout):
    checkout.run("list")
    done = checkout.run("card", "synth", FAIL_RTL="1")
    assert (done.returncode, "no such wheel" in done.stderr) == (0, True)
    assert "pip could not install the packages for the card's hardware; the whole log: " in done.stderr
    checkout.calls()
    assert checkout.run("card", "synth", TB_NO_RTL="1").stderr == ""
    assert checkout.calls() == ["python -P -m"]


def test_old_package_lists_may_do(checkout):
    done = checkout.run("list", INSTALLED="", FAIL_UPDATE="1")
    assert done.returncode == 0


def test_packages_may_be_somebody_elses_business(checkout):
    assert checkout.run("list", INSTALLED="", TB_NO_APT="1").returncode == 0
    assert not any(call.startswith("apt-get") for call in checkout.calls())


def test_it_works_from_any_folder_and_through_a_symlink(checkout, tmp_path):
    link, elsewhere = tmp_path / "link", tmp_path / "elsewhere"
    link.symlink_to(checkout.top / "tb")
    elsewhere.mkdir()
    done = checkout.run("validate", "mine.yaml", script=link, cwd=elsewhere)
    assert done.stdout == f"testbed in {elsewhere}: validate mine.yaml\n"
    assert (checkout.top / ".venv").is_dir()


def test_first_calls_at_once_set_up_once(checkout):
    calls = [checkout.start("list", PIP_SECONDS="1") for _ in range(3)]
    outputs = [call.communicate(timeout=60) for call in calls]
    assert [call.returncode for call in calls] == [0, 0, 0]
    assert checkout.calls().count("python -m pip") == 1
    assert sum("another call is setting up" in err for _, err in outputs) == 2


def test_a_long_step_gives_a_sign_of_life(checkout):
    """With the last line of its log, and nothing goes on after it."""
    done = checkout.run("list", PIP_SECONDS="5")
    assert done.returncode == 0
    assert "tb:   4 s so far: == installing Python packages" in done.stderr
    assert "s so far" not in done.stderr.partition("installing Python packages")[0]
    assert checkout.processes() == []


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_an_interruption_ends_what_set_up_started(checkout, number, status):
    call = checkout.start("list", PIP_SECONDS="60")
    while "python -m pip" not in checkout.calls():
        assert call.poll() is None
        time.sleep(0.02)
    call.send_signal(number)
    _, err = call.communicate(timeout=20)
    assert call.returncode == status
    assert "tb: interrupted; the next call goes on with the set-up\n" in err
    assert checkout.processes() == []
    assert checkout.run("list").returncode == 0


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_checkout_of_somebody_else_is_told(checkout):
    checkout.top.chmod(stat.S_IRUSR | stat.S_IXUSR)
    done = checkout.run("list")
    assert done.returncode == 3
    assert "is not writable by you" in done.stderr


def test_help_is_there_at_once():
    if not (_TOP / ".venv" / "tb-stamp").exists():
        pytest.skip("this checkout is not set up by ./tb")
    subprocess.run([_TOP / "tb", "--version"], capture_output=True, check=True)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([_TOP / "tb", "--help"], capture_output=True, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.stdout.startswith("usage: tb")
    # Processor time, not the clock: other work on the machine must not decide.
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 0.5


def pins(name: str) -> list[str]:
    lines = (_TOP / name).read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def test_requirements_are_exact_and_name_no_index():
    ours, torchs, docs, rtl = (pins(f"requirements{more}.txt") for more in ("", "-torch", "-docs", "-rtl"))
    assert len(ours) > 20
    assert torchs[0].startswith("torch=="), "tb reads the version there"
    assert all("==" in pin and "/" not in pin and not pin.startswith("-") for pin in ours + torchs + docs + rtl)
    names = [pin.partition("==")[0].lower() for pin in ours + torchs + docs + rtl]
    assert len(names) == len(set(names)), "one place for each"
