from __future__ import annotations

import os
from pathlib import Path

import pytest

from testbed.interop import packages
from testbed.interop.packages import ensure_packages, missing_packages, package_version, run_tool
from workloads.errors import HostCapabilityError


def program(folder: Path, name: str, text: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


@pytest.fixture
def debian(tmp_path, monkeypatch):
    """A machine of shell scripts: dpkg knows the packages that are lines of a file, apt-get adds to it."""
    installed = tmp_path / "installed"
    installed.write_text("kmod\n")
    program(tmp_path, "dpkg-query", f'grep -qx "$3" {installed} || exit 1; printf "ii  5.4-1"')
    program(
        tmp_path,
        "apt-get",
        f'echo "$@" >>{tmp_path}/calls; case "$*" in *" install "*) [ ! -e {tmp_path}/broken ] || exit 100;'
        f' for p in "$@"; do echo $p >>{installed}; done;; *update*) rm -f {tmp_path}/stale-lists; esac',
    )
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.delenv("TB_NO_APT", raising=False)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    return tmp_path


def test_a_package_is_there_or_not(debian):
    assert package_version("kmod") == "5.4-1"
    assert package_version("perftest") is None
    assert missing_packages(("kmod", "perftest")) == ("perftest",)


def test_nothing_is_said_or_done_when_all_is_there(debian):
    said = []
    ensure_packages(said.append, packages=("kmod",))
    assert said == []
    assert not (debian / "calls").exists()


def test_root_installs_what_is_missing_and_says_so_before(debian):
    said = []
    ensure_packages(said.append, packages=("kmod", "perftest", "rdma-core"))
    assert said == ["installing Debian packages: perftest rdma-core"]
    assert "install --no-install-recommends perftest rdma-core" in (debian / "calls").read_text()
    assert missing_packages(("perftest", "rdma-core")) == ()


@pytest.mark.parametrize("why", ["user", "flag"])
def test_who_may_not_install_is_told_the_command(debian, monkeypatch, why):
    if why == "user":
        monkeypatch.setattr(os, "geteuid", lambda: 1000)
    else:
        monkeypatch.setenv("TB_NO_APT", "1")
    with pytest.raises(HostCapabilityError) as caught:
        ensure_packages(lambda text: None, packages=("perftest", "kmod"))
    assert str(caught.value) == (
        "this machine lacks the Debian packages perftest; install them: sudo apt-get install --no-install-recommends "
        "perftest"
    )
    assert not (debian / "calls").exists()


def test_a_failed_installation_is_tried_again_with_fresh_lists_and_then_told(debian):
    (debian / "broken").touch()
    with pytest.raises(HostCapabilityError, match="sudo apt-get install --no-install-recommends perftest"):
        ensure_packages(lambda text: None, packages=("perftest",))
    verbs = [next(word for word in line.split() if word in ("install", "update")) for line in (debian / "calls").open()]
    assert verbs == ["install", "update", "install"]


def test_a_tool_that_fails_is_told_with_the_end_of_its_output(tmp_path):
    with pytest.raises(HostCapabilityError) as caught:
        run_tool(["sh", "-c", "echo one; echo two >&2; exit 4"], needed_for="the thing", remedy="do this")
    assert str(caught.value) == "this machine lacks the thing (sh -c echo one; echo two >&2; exit 4: two); do this"


def test_a_tool_that_hangs_is_ended():
    with pytest.raises(HostCapabilityError, match="sleep took more than 0"):
        run_tool(["sleep", "20"], needed_for="the thing", remedy="do this", limit_s=0)


def test_without_dpkg_it_is_no_debian(monkeypatch, tmp_path):
    monkeypatch.setattr(packages.shutil, "which", lambda name: None)
    with pytest.raises(HostCapabilityError, match="this machine lacks dpkg; `tb interop` needs a Debian system"):
        package_version("kmod")
