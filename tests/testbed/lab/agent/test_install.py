"""Installing a package on a host with packages from an index: what is pinned, whole or not there."""

from __future__ import annotations

import functools
import gzip
import http.server
import io
import os
import subprocess
import sys
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from testbed.lab.agent import install
from testbed.lab.package import content_version

_PINS = {"numpy": "9.1", "pydantic": "9.2", "PyYAML": "9.3"}


def _wheel(folder: Path, name: str, version: str) -> None:
    module, info = {"PyYAML": "yaml"}.get(name, name), f"{name}-{version}.dist-info"
    contents = {
        f"{module}/__init__.py": f"__version__ = {version!r}\n",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{path},,\n" for path in [*contents, f"{info}/RECORD"])
    home = folder / name.lower()
    home.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(home / f"{name}-{version}-py3-none-any.whl", "w") as wheel:
        for path, text in {**contents, f"{info}/RECORD": record}.items():
            wheel.writestr(path, text)


@pytest.fixture
def wheels(tmp_path: Path) -> Path:
    """What an index holds: what is pinned, and newer ones."""
    for name, version in _PINS.items():
        _wheel(tmp_path / "simple", name, version)
        _wheel(tmp_path / "simple", name, "99.0")
    return tmp_path / "simple"


@contextmanager
def _index(folder: Path) -> Iterator[str]:
    """On loopback."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder.parent))
    ) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/{folder.name}"
        finally:
            server.shutdown()
            thread.join()


def _package(base: Path) -> str:
    """A package that was sent; its version."""
    pins = "".join(f"{name}=={version}\n" for name, version in _PINS.items())
    contents = {"requirements.txt": pins.encode(), "testbed/__init__.py": b"here = True\n"}
    version = content_version(contents)
    buffer = io.BytesIO()
    with gzip.GzipFile(fileobj=buffer, mode="wb") as zipped, tarfile.open(fileobj=zipped, mode="w") as archive:
        for name, data in contents.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    (base / "packages").mkdir(parents=True)
    (base / "packages" / f"{version}.tar.gz").write_bytes(buffer.getvalue())
    return version


def _install(base: Path, version: str, *options: str) -> subprocess.CompletedProcess[str]:
    """As `deploy` runs it on the host."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PIP_")}
    environment["PIP_CONFIG_FILE"] = os.devnull
    return subprocess.run(
        [sys.executable, "-", str(base), version, "pip", *options],
        input=Path(install.__file__).read_text(), env=environment, capture_output=True, text=True, timeout=900,
        check=False,
    )  # fmt: skip


def test_what_is_pinned_is_installed_from_an_index(wheels: Path, tmp_path: Path) -> None:
    base = tmp_path / "base"
    version = _package(base)
    with _index(wheels) as url:
        done = _install(base, version, "--index-url", url)
        assert (done.returncode, done.stdout) == (0, "installed\n"), done.stderr
    asked = "import numpy, pydantic, yaml, testbed; print(numpy.__version__, pydantic.__version__, yaml.__version__)"
    python = base / "current" / "bin" / "python"
    said = subprocess.run([python, "-P", "-c", asked], capture_output=True, text=True, check=True, cwd="/").stdout
    assert said == "9.1 9.2 9.3\n"
    assert os.readlink(base / "current") == f"deploy/{version}"
    again = _install(base, version, "--index-url", "http://127.0.0.1:9/nowhere")
    assert (again.returncode, again.stdout) == (0, "there\n"), "nothing is asked for what is there"


def test_what_cannot_be_installed_leaves_what_was_current(wheels: Path, tmp_path: Path) -> None:
    base = tmp_path / "base"
    version = _package(base)
    (wheels / "numpy" / "numpy-9.1-py3-none-any.whl").unlink()
    (base / "deploy" / "before").mkdir(parents=True)
    (base / "current").symlink_to("deploy/before")
    done = _install(base, version, "--no-index", "--find-links", str(wheels / "numpy"))
    assert done.returncode == 75
    assert "ERROR: " in done.stderr
    assert "numpy==9.1" in done.stderr, "what was wanted"
    assert done.stderr.splitlines()[-1].endswith("ended with exit status 1")
    assert os.readlink(base / "current") == "deploy/before"
    assert not (base / "deploy" / version).exists()


def test_a_package_that_is_not_what_its_name_says(tmp_path: Path) -> None:
    base = tmp_path / "base"
    version = _package(base)
    (base / "packages" / f"{version}.tar.gz").rename(base / "packages" / f"{'0' * 16}.tar.gz")
    done = _install(base, "0" * 16)
    assert (done.returncode, done.stderr) == (75, "the package is not what its name says\n")
    assert not (base / "current").exists()


@pytest.mark.parametrize("name", ["/etc/x", "../x", "a/../../x"])
def test_a_package_that_leads_elsewhere(tmp_path: Path, name: str) -> None:
    (tmp_path / "packages").mkdir()
    with tarfile.open(tmp_path / "packages" / "v.tar.gz", "w:gz") as archive:
        archive.addfile(tarfile.TarInfo(name))
    done = _install(tmp_path, "v")
    assert (done.returncode, done.stderr) == (75, f"the package holds {name!r}, which is no file of ours\n")
