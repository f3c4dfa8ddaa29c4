"""The prebuilt check: a machine without clang or headers is told what is missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from testbed.faults.ebpf import build
from workloads.errors import HostCapabilityError, InternalError


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty place for objects."""
    monkeypatch.setattr(build, "_ROOT", tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


def test_without_clang(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(folder))
    with pytest.raises(HostCapabilityError) as refused:
        build.build_object()
    assert str(refused.value) == (
        "this machine lacks clang, which compiles the eBPF program of the faults; "
        "apt-get install clang libbpf-dev linux-libc-dev"
    )


def fake_clang(folder: Path, monkeypatch: pytest.MonkeyPatch, said: str, status: int = 1) -> None:
    program = folder / "clang"
    program.write_text(f"#!/bin/sh\nfor last; do :; done\necho object > $last\necho '{said}' >&2\nexit {status}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")


def test_without_a_header(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_clang(folder, monkeypatch, "x.c:1:10: fatal error: bpf/bpf_helpers.h file not found")
    with pytest.raises(HostCapabilityError, match=r"^this machine lacks a header of the eBPF program \(x.c:1:10"):
        build.build_object()


def test_our_own_mistake(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_clang(folder, monkeypatch, "x.c:9:1: error: no such thing")
    with pytest.raises(InternalError, match=r"^clang refuses fault.c: x.c:9:1: error: no such thing$"):
        build.build_object()


def test_an_object_is_made_once_and_anew_when_the_source_changes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_clang(folder, monkeypatch, "", 0)
    source = folder / "one.c"
    source.write_text("int a;")
    first = build.build_object(source)
    assert first.read_text() == "object\n"
    first.write_text("kept")
    assert build.build_object(source).read_text() == "kept"
    source.write_text("int b;")
    assert build.build_object(source) != first


def test_no_folder_to_write_to(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_clang(folder, monkeypatch, "", 0)
    (folder / "cache").write_text("a file where a folder should be")
    with pytest.raises(
        HostCapabilityError, match=r"^this machine lacks a folder for compiled eBPF programs; make one of"
    ):
        build.build_object()
