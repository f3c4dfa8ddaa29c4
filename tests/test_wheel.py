"""A wheel, in an environment of its own: what is not Python is in it, built-ins are listed and run, the rest says what
it lacks."""

from __future__ import annotations

import ast
import configparser
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from testbed.scenario import builtin_names
from testbed.sweeps.loader import builtin_sweeps

_TOP = Path(__file__).resolve().parents[1]
_PACKAGES = ("playbooks", "switch_nodes", "testbed", "topologies", "workloads")
_OFFLINE = re.compile(
    r"No matching distribution found for setuptools|Could not find a version|NewConnectionError|getaddrinfo"
)
_OPTIONAL = {
    "amaranth",
    "argparse_manpage",
    "distributed",
    "google",
    "markdown_it",
    "mininet",
    "mkdocs",
    "os_ken",
    "packaging",
    "pandas",
    "pyarrow",
    "pytest",
    "pyverbs",
    "shtab",
    "ryu",
    "scapy",
    "sklearn",
    "torch",
}
"""what a command asks for when it needs it: of Debian, or an extra"""
_DISTRIBUTIONS = {"yaml": "PyYAML", "pydantic_core": "pydantic"}
Tb = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of this checkout's files, without what lies about in it."""
    source = tmp_path_factory.mktemp("source")
    for name in _PACKAGES:
        shutil.copytree(_TOP / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("setup.cfg", "setup.py", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(_TOP / name, source)
    words = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--wheel-dir",
        str(source / "out"),
        str(source),
    ]
    done = subprocess.run(words, capture_output=True, text=True, timeout=600, check=False)
    if done.returncode and _OFFLINE.search(done.stderr) and not os.environ.get("CI"):
        pytest.skip("pip cannot fetch setuptools: no network")
    assert done.returncode == 0, done.stdout + done.stderr
    (built,) = (source / "out").glob("*.whl")
    return built


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With the wheel installed, and the dependencies of the environment that runs us. No Mininet: that is Debian's."""
    folder = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    (library,) = folder.glob("lib/python*/site-packages")
    install = [
        sys.executable,
        "-m",
        "pip",
        f"--python={folder}/bin/python",
        "install",
        "--quiet",
        "--no-deps",
        "--no-index",
        str(wheel),
    ]
    subprocess.run(install, check=True, timeout=120)
    (library / "dependencies.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    return folder


@pytest.fixture
def tb(environment: Path, tmp_path: Path) -> Tb:
    """Runs the installed command in an empty folder, with a cache of its own."""
    variables = {"PATH": "/usr/bin:/bin:/usr/sbin", "HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    variables["PYTHONDONTWRITEBYTECODE"] = "1"

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [f"{environment}/bin/tb", *words], cwd=tmp_path, env=variables, capture_output=True, text=True, timeout=100,
            check=False,
        )  # fmt: skip

    return run


def test_every_file_that_is_no_python_is_in_it(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        held = set(archive.namelist())
    ours = {
        path.relative_to(_TOP).as_posix()
        for name in _PACKAGES
        for path in (_TOP / name).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert len(ours) > 400
    assert sorted(ours - held) == []


def test_built_ins_are_listed_and_run_with_the_c_core_in_the_users_cache(
    tb: Tb, environment: Path, tmp_path: Path
) -> None:
    before = set(environment.rglob("*"))
    listed = tb("list", "scenarios")
    assert (listed.returncode, listed.stderr) == (0, "")
    assert set(builtin_names()) <= set(listed.stdout.split())
    assert set(builtin_sweeps()) <= set(tb("list", "sweeps").stdout.split())
    assert tb("validate", "rack").returncode == 0
    done = tb("run", "rack", "--world", "simulated", "--out", "run")
    assert done.returncode == 0
    assert "tb: " not in done.stderr, "progress alone"
    assert "Verdict: PASS" in done.stdout
    assert (tmp_path / "run" / "result.json").is_file()
    assert {path.name.rpartition("-")[0] for path in (tmp_path / "cache/ina-testbed/native").glob("*.so")} >= {
        "simulator"
    }
    assert set(environment.rglob("*")) == before


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("run", "rack"), "apt-get install mininet" if os.geteuid() == 0 else "sudo"),
        (("shell", "rack", "-c", "nodes"), "apt-get install mininet" if os.geteuid() == 0 else "sudo"),
        (("test",), "clone the repository and use its ./tb test"),
    ],
)
def test_what_an_installed_package_cannot_do_ends_with_3_and_says_what_would_help(
    tb: Tb, words: tuple[str, ...], text: str
) -> None:
    done = tb(*words)
    assert done.returncode == 3
    assert text in done.stderr
    assert "Traceback" not in done.stderr


def test_hosts_of_a_lab_get_the_whole_package(environment: Path) -> None:
    code = "from testbed.lab.package import build_package; print(build_package().size)"
    done = subprocess.run(
        [f"{environment}/bin/python", "-c", code], cwd="/", capture_output=True, text=True, check=True
    )
    assert int(done.stdout) > 1_000_000


def test_what_product_code_imports_is_declared() -> None:
    """Whatever `pip install .` must bring along."""
    config = configparser.ConfigParser()
    config.read(_TOP / "setup.cfg")
    declared = {re.split("[<>=]", line)[0].lower() for line in config["options"]["install_requires"].split()}
    imported = set()
    for path in (path for name in _PACKAGES for path in (_TOP / name).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                imported |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                imported.add((node.module or "").partition(".")[0])
    foreign = imported - set(_PACKAGES) - set(sys.stdlib_module_names) - _OPTIONAL
    assert {_DISTRIBUTIONS.get(name, name).lower() for name in foreign} == declared
