"""Packages of the host: found, installed, refused with what to do."""

from __future__ import annotations

import os
import sys

import pytest

from testbed.interop import packages
from workloads.errors import HostCapabilityError

INSTALL = "apt-get install --no-install-recommends perftest"


@pytest.fixture
def host(monkeypatch):
    """apt-get calls; all but perftest is installed; we are root."""
    asked = []
    monkeypatch.setattr(packages, "package_version", lambda name: None if name == "perftest" else "1")
    monkeypatch.setattr(packages, "run_tool", lambda command, **more: asked.append(" ".join(command)) or "")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.delenv("TB_NO_APT", raising=False)
    return asked


def test_what_is_missing_is_installed_and_said(host):
    said = []
    packages.ensure_packages(said.append)
    assert said == ["installing Debian packages: perftest"]
    assert [call for call in host if "install" in call] == host
    assert host[0].endswith("--no-install-recommends perftest")


def test_nothing_is_done_when_nothing_is_missing(host):
    packages.ensure_packages(pytest.fail, packages=("rdma-core",))
    assert host == []


@pytest.mark.parametrize("why", ["no root", "TB_NO_APT"])
def test_who_may_not_install_gets_the_command(host, monkeypatch, why):
    if why == "no root":
        monkeypatch.setattr(os, "geteuid", lambda: 1000)
    else:
        monkeypatch.setenv("TB_NO_APT", "1")
    with pytest.raises(HostCapabilityError) as caught:
        packages.ensure_packages(pytest.fail)
    assert "the Debian packages perftest" in str(caught.value)
    assert INSTALL in str(caught.value)
    assert host == []


def test_lists_are_renewed_when_a_package_cannot_be_had(host, monkeypatch):
    def run_tool(command, **more):
        host.append("update" if "update" in command else "install")
        if host == ["install"]:
            raise HostCapabilityError("perftest", "network")
        return ""

    monkeypatch.setattr(packages, "run_tool", run_tool)
    packages.ensure_packages(lambda text: None)
    assert host == ["install", "update", "install"]


def test_a_tool_tells_its_output_or_why_there_is_none():
    def run(*words, **more):
        return packages.run_tool([sys.executable, "-c", *words], needed_for="the kernel", remedy="network?", **more)

    assert run("print(1)") == "1\n"
    with pytest.raises(HostCapabilityError, match=r"the kernel .*: two / three / four"):
        run("import sys; sys.exit('one\\ntwo\\nthree\\nfour')")
    with pytest.raises(HostCapabilityError, match=r"took more than 0\.2 s"):
        run("import time; time.sleep(9)", limit_s=0.2)
    with pytest.raises(HostCapabilityError, match="the program /nowhere/tool, needed for the kernel"):
        packages.run_tool(["/nowhere/tool"], needed_for="the kernel", remedy="network?")


def test_without_dpkg_this_is_no_debian(monkeypatch):
    monkeypatch.setattr(packages.shutil, "which", lambda name: None)
    with pytest.raises(HostCapabilityError, match="needs a Debian system"):
        packages.package_version("perftest")
