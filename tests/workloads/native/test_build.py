"""Building: cache, concurrency, and a readable reason whenever there is no library."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from workloads.native import build, places
from workloads.native.build import load_library, native_status
from workloads.native.places import NativeStatus

_TOP = Path(__file__).resolve().parents[3]
pytestmark = pytest.mark.programs


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty cache folder, and nothing loaded before."""
    monkeypatch.setattr(build, "_ROOT", tmp_path)
    monkeypatch.setattr(places, "_ROOT", tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("INA_NATIVE", raising=False)
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.delenv("INA_NATIVE_FLAGS", raising=False)
    monkeypatch.setattr(build, "_loaded", {})
    monkeypatch.setattr(build, "_status", {})
    if not any(build.shutil.which(name) for name in ("gcc", "cc", "clang")):
        pytest.skip("no C compiler")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "sample.c"
    path.write_text('#include "roce.h"\nint answer(void) { return 41; }\n')
    return path


def _builds(tmp_path: Path) -> list[Path]:
    return sorted((tmp_path / "cache" / "ina-testbed" / "native").glob("*"))


def _load(source: Path) -> ctypes.CDLL:
    library = load_library("sample", [source])
    assert library is not None, native_status()["sample"].detail
    return library


def test_builds_and_remembers(source: Path, tmp_path: Path) -> None:
    assert _load(source).answer() == 41
    assert native_status()["sample"].available
    (built,) = _builds(tmp_path)
    assert native_status()["sample"].detail == str(built)
    stamp = built.stat().st_mtime_ns
    build._loaded.clear()
    assert _load(source).answer() == 41
    assert built.stat().st_mtime_ns == stamp


def test_a_changed_source_is_built_again(source: Path) -> None:
    _load(source)
    build._loaded.clear()
    source.write_text("int answer(void) { return 42; }\n")
    assert _load(source).answer() == 42


def test_a_changed_header_is_built_again(source: Path) -> None:
    header = source.with_name("value.h")
    header.write_text("#define VALUE 1\n")
    source.write_text('#include "value.h"\nint answer(void) { return VALUE; }\n')
    assert _load(source).answer() == 1
    build._loaded.clear()
    header.write_text("#define VALUE 2\n")
    assert _load(source).answer() == 2


def test_a_damaged_build_is_replaced(source: Path, tmp_path: Path) -> None:
    folder = tmp_path / "cache" / "ina-testbed" / "native"
    folder.mkdir(parents=True)
    (folder / f"sample-{build._digest('sample', [source], ())}.so").write_bytes(b"\x7fELF cut short")
    assert _load(source).answer() == 41


def test_a_checkout_holds_its_own_builds(source: Path, tmp_path: Path) -> None:
    (tmp_path / "setup.cfg").touch()
    _load(source)
    assert len(list((tmp_path / "build" / "native").glob("sample-*.so"))) == 1
    assert _builds(tmp_path) == []


def test_the_user_cache_serves_when_the_checkout_cannot_be_written(source: Path, tmp_path: Path) -> None:
    (tmp_path / "setup.cfg").touch()
    (tmp_path / "build").write_text("a file where the folder should be")
    _load(source)
    assert len(_builds(tmp_path)) == 1


def test_flags_of_the_environment_make_another_build(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source.write_text("int answer(void) { return ANSWER; }\n")
    for answer in (5, 6):
        monkeypatch.setenv("INA_NATIVE_FLAGS", f"-DANSWER={answer} '-DNAME=a b'")
        assert _load(source).answer() == answer
    assert len(_builds(tmp_path)) == 2


def test_switched_off(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INA_NATIVE", "0")
    assert load_library("sample", [source]) is None
    assert native_status()["sample"] == NativeStatus(False, "switched off by INA_NATIVE=0")
    monkeypatch.setenv("INA_NATIVE", "1")
    assert _load(source).answer() == 41


def test_no_compiler(source: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert load_library("sample", [source]) is None
    detail = "no C compiler in PATH; apt-get install gcc libc6-dev zlib1g-dev"
    assert native_status()["sample"] == NativeStatus(False, detail)


@pytest.fixture
def shipped(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A wheel's build of the sample."""
    monkeypatch.setattr(build, "LIBRARIES", {"sample": ("sample.c",)})
    monkeypatch.setattr(build, "_SHIPPED", tmp_path / "shipped")
    build.ship(build._SHIPPED)
    (built,) = build._SHIPPED.iterdir()
    return built


def test_what_a_wheel_brought_serves_where_no_compiler_is(
    shipped: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    library = load_library("sample")
    assert library is not None
    assert library.answer() == 41
    assert native_status()["sample"].detail == str(shipped)
    assert _builds(tmp_path) == []


def test_a_compiler_goes_before_what_a_wheel_brought(shipped: Path, tmp_path: Path) -> None:
    assert load_library("sample") is not None
    assert [str(path) for path in _builds(tmp_path)] == [native_status()["sample"].detail]


def test_what_a_wheel_brought_does_not_serve_another_source(
    shipped: Path, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source.write_text("int answer(void) { return 42; }\n")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert load_library("sample") is None


def test_a_compile_error_is_told(source: Path, tmp_path: Path) -> None:
    source.write_text("int answer(void) { return wrong; }\n")
    assert load_library("sample", [source]) is None
    assert "'wrong' undeclared" in native_status()["sample"].detail
    assert _builds(tmp_path) == []


def test_a_missing_zlib_names_the_package(source: Path) -> None:
    source.write_text('#include "no/such/zlib.h"\n')
    assert load_library("sample", [source]) is None
    assert native_status()["sample"].detail.endswith("; apt-get install zlib1g-dev")


def test_many_processes_build_at_once(source: Path, tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from workloads.native import build, places;"
        "build._ROOT = places._ROOT = Path(sys.argv[1]);"
        "print(build.load_library('sample', [Path(sys.argv[2])]).answer())"
    )
    children = [
        subprocess.Popen(
            [sys.executable, "-c", program, str(tmp_path), str(source)],
            stdout=subprocess.PIPE,
            text=True,
            cwd=_TOP,
        )
        for _ in range(4)
    ]
    assert [child.communicate(timeout=60)[0].strip() for child in children] == ["41"] * 4
    assert len(_builds(tmp_path)) == 1


def test_sums_round_as_numpy_does(source: Path) -> None:
    """A fused multiply-add would give -2^-104 here."""
    source.write_text(
        '#include <math.h>\n__attribute__((target("fma"))) double answer(double a, double b) { return a * b - 1.0; }\n'
    )
    if "fma" not in Path("/proc/cpuinfo").read_text():
        pytest.skip("a processor without FMA")
    library = _load(source)
    library.answer.argtypes, library.answer.restype = [ctypes.c_double, ctypes.c_double], ctypes.c_double
    a, b = 1.0 + 2.0**-52, 1.0 - 2.0**-52
    assert library.answer(a, b) == a * b - 1.0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=lambda number: number.name)
def test_a_compiler_and_what_it_started_end_with_the_build(source: Path, tmp_path: Path, number: int) -> None:
    """A driver waits for its compiler proper, as gcc does."""
    compiler, pids = tmp_path / "slow-cc", tmp_path / "pids"
    compiler.write_text(f"#!/bin/sh\nsleep 600 &\necho $$ $! > {pids}.part\nmv {pids}.part {pids}\nwait\n")
    compiler.chmod(0o755)
    program = (
        "import sys; from pathlib import Path; from workloads.native import build; build.load_library('x', "
        "[Path(sys.argv[1])])"
    )
    cache = {"CC": str(compiler), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    with subprocess.Popen(
        [sys.executable, "-c", program, str(source)], cwd=_TOP, env=os.environ | cache, stderr=subprocess.DEVNULL
    ) as building:
        while not pids.exists():
            assert building.poll() is None
            time.sleep(0.01)
        building.send_signal(number)
    driver, child = map(int, pids.read_text().split())
    deadline = time.monotonic() + 5
    while (left := [pid for pid in (driver, child) if _runs(pid)]) and time.monotonic() < deadline:
        time.sleep(0.01)
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert left == []


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_a_library_that_was_switched_off_for_a_while_is_told_as_it_is(
    source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert load_library("sample", [source]) is not None
    before = native_status()["sample"]
    monkeypatch.setenv("INA_NATIVE", "0")
    assert load_library("sample", [source]) is None
    assert not native_status()["sample"].available
    monkeypatch.delenv("INA_NATIVE")
    assert load_library("sample", [source]) is not None
    assert native_status()["sample"] == before
