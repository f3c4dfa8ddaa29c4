"""The same application under ryu 4.34, in a virtual environment of its own, with a real Open vSwitch. Made once, which
takes a minute or two, and kept in the user's cache."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy
import pytest

from tests.testbed.steering.conftest import Driver, Rig

pytestmark = [pytest.mark.root, pytest.mark.timeout(900)]
_STEPS = (
    # setuptools 68 has no get_script_args any more, which ryu's build asks for.
    ["setuptools<=67.8", "wheel", "pbr"],
    [f"numpy=={numpy.__version__}", "eventlet==0.41.3"],
    ["--no-build-isolation", "ryu==4.34"],
)


@pytest.fixture(scope="session")
def ryu_python() -> Path:
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "ina-testbed"
    folder = cache / f"ryu-4.34-python{sys.version_info.major}.{sys.version_info.minor}"
    python = folder / "bin" / "python"
    if (folder / "complete").exists() and python.exists():
        return python
    shutil.rmtree(folder, ignore_errors=True)
    cache.mkdir(parents=True, exist_ok=True)
    try:
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True, capture_output=True, timeout=120)
        for packages in _STEPS:
            command = [
                str(python),
                "-m",
                "pip",
                "install",
                "-q",
                "--no-input",
                "--disable-pip-version-check",
                *packages,
            ]
            subprocess.run(command, check=True, capture_output=True, timeout=300)
    except (subprocess.SubprocessError, OSError) as error:
        shutil.rmtree(folder, ignore_errors=True)
        output = getattr(error, "stderr", b"") or b""
        pytest.skip(f"ryu 4.34 cannot be installed: {error}: {output[-300:].decode(errors='replace')}")
    (folder / "complete").touch()
    return python


def test_the_same_application_runs_under_ryu(ryu_python: Path, rig: Rig) -> None:
    driver = Driver(ryu_python)
    try:
        assert driver.wait_for("library")["name"] == "ryu 4.34"
        assert driver.wait_for("RulesInstalled", reason="connected")["added"] == 9
        rig.namespace.link_state("q2", "down")
        told = driver.wait_for("RulesInstalled", reason="port 2 of s1 is down")
        assert told["fallback"]
        rows = {row["name"]: row["packets"] for row in driver.wait_for("reading", fallback=True)["rows"]}
        assert rows["fallback-h1-h2"] == 0
    finally:
        driver.kill()
    again = Driver(ryu_python)
    try:
        assert again.wait_for("RulesInstalled", reason="connected")["kept"] == 9
    finally:
        again.kill()
