"""What a run says of the code that it takes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.native import needs_native
from workloads.native import build, places
from workloads.native.account import account_of, failures
from workloads.native.build import LIBRARIES


@pytest.fixture
def two_libraries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with `good.c` and `other.c`, which are all the libraries there are, and nothing built."""
    monkeypatch.setattr(build, "_ROOT", tmp_path)
    monkeypatch.setattr(places, "_ROOT", tmp_path)
    monkeypatch.setattr(build, "LIBRARIES", {"good": ("good.c",), "other": ("other.c",)})
    monkeypatch.setattr(build, "_loaded", {})
    monkeypatch.setattr(build, "_status", {})
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("INA_NATIVE", raising=False)
    monkeypatch.delenv("CC", raising=False)
    for name in ("good", "other"):
        (tmp_path / f"{name}.c").write_text("int answer(void) { return 41; }\n")
    return tmp_path


@pytest.mark.parametrize("name", LIBRARIES)
def test_every_library_builds_where_there_is_a_compiler(name: str) -> None:
    """Skips without one, and fails where one is there and fails, with what it said."""
    from tests.support.native import require_native

    require_native(name)


@needs_native("packet_io")
def test_native_when_all_are_built(two_libraries: Path) -> None:
    assert account_of(["good", "other"]) == "native"
    assert failures() == {}


@needs_native("packet_io")
def test_a_library_that_does_not_compile_is_named_with_the_reason(two_libraries: Path) -> None:
    (two_libraries / "other.c").write_text("int answer(void) { return wrong; }\n")
    account = account_of(["good", "other"])
    assert account.startswith("native, but python for other (the C core cannot be built: gcc: ")
    assert "'wrong' undeclared" in account
    assert account_of(["good"]) == "native"
    assert list(failures()) == ["other"]


@needs_native("packet_io")
def test_a_library_that_does_not_load_is_a_failure(two_libraries: Path) -> None:
    (two_libraries / "good.c").write_text("int missing(void);\nint answer(void) { return missing(); }\n")
    build._LIBRARIES, before = ("-Wl,-z,now",), build._LIBRARIES
    try:
        assert "undefined symbol: missing" in account_of(["good"])
    finally:
        build._LIBRARIES = before
    assert list(failures()) == ["good"]


def test_the_python_reference_says_why_it_runs(two_libraries: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(two_libraries))
    why = "no C compiler in PATH; apt-get install gcc libc6-dev zlib1g-dev"
    assert account_of(["good", "other"]) == f"python ({why})"
    assert failures() == {}  # that is no failure: this machine does without


def test_switched_off_is_no_failure(two_libraries: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INA_NATIVE", "0")
    assert account_of(["good", "other"]) == "python (switched off by INA_NATIVE=0)"
    assert failures() == {}


@needs_native("packet_io")
@pytest.mark.parametrize(("text", "code"), [("int x = wrong;\n", 70), ('#include "no/such/zlib.h"\n', 3), ("", 0)])
def test_building_by_hand_fails_with_what_the_compiler_said(
    two_libraries: Path, capsys: pytest.CaptureFixture[str], text: str, code: int
) -> None:
    (two_libraries / "other.c").write_text(text)
    assert build.main() == code
    told = capsys.readouterr().out
    assert ("other: cannot be built: gcc: " in told) == bool(code)
    assert not code or text.split()[-1].strip('";') in told.partition("cannot be built")[2].partition("\n")[2]


def test_building_by_hand_is_done_without_a_compiler(
    two_libraries: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(two_libraries))
    assert build.main() == 0
    assert "good: Python reference, no C compiler in PATH" in capsys.readouterr().out
