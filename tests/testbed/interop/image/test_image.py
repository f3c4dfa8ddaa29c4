"""The pieces of the work folder: initrd, staged files."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from testbed.interop.image.etc import STAGED, stage_etc
from testbed.interop.image.initrd import build_initrd
from testbed.interop.image.prepare import prepare_image
from testbed.interop.image.stage import stage_code
from workloads.errors import HostCapabilityError

TOP = Path(__file__).resolve().parents[4]


def test_the_initrd_lists_its_modules_in_order_and_is_reproducible():
    modules = [("kernel/b/second.ko", b"2"), ("kernel/a/first.ko", b"1")]
    archive = build_initrd(b"busybox", modules)
    assert archive == build_initrd(b"busybox", modules)
    data = gzip.decompress(archive)
    assert b"second.ko\nfirst.ko\n" in data
    assert data.index(b"#!/bin/sh\n# PID 1") > 0


def test_only_the_listed_files_of_etc_are_staged(tmp_path):
    source, target = tmp_path / "etc", tmp_path / "staged"
    (source / "alternatives").mkdir(parents=True)
    (source / "alternatives" / "awk").symlink_to("/usr/bin/mawk")
    (source / "shadow").write_text("root:secret")
    (source / "passwd").write_text("somebody:x:1000:1000::/home/somebody:/bin/sh")
    (source / "services").write_text("http 80/tcp")
    (target / "old").mkdir(parents=True)
    stage_etc(source, target)
    assert {path.name for path in target.iterdir()} == {
        "alternatives",
        "services",
        "passwd",
        "group",
        "hosts",
        "hostname",
    }
    assert (target / "alternatives" / "awk").is_symlink()
    assert "somebody" not in (target / "passwd").read_text()
    assert "shadow" not in STAGED


def test_the_guest_gets_the_packages_that_its_runner_needs_and_no_more(tmp_path):
    stage_code(TOP, tmp_path / "code")
    found = {path.relative_to(tmp_path / "code").as_posix() for path in (tmp_path / "code").rglob("*.py")}
    assert {"workloads/verbs/worker.py", "testbed/interop/protocol.py", "testbed/interop/guest/runner.py"} <= found
    assert not [path for path in found if path.startswith(("testbed/checkers", "testbed/cli", "switch_nodes", "tests"))]
    assert (tmp_path / "code" / "testbed/interop/guest/setup.sh").is_file()


def test_without_network_the_remedy_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(HostCapabilityError) as caught:
        prepare_image(tmp_path / "work", lambda text: None)
    assert str(caught.value) == (
        "this machine lacks the program apt-cache, needed for the name of the stock kernel; is the network up, and "
        "does "
        "`apt-get update` work by hand?"
    )
