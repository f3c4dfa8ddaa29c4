"""What the work folder keeps, and what makes a piece be made anew; what the guest gets to see."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from testbed.interop.image import prepare
from testbed.interop.image.etc import STAGED, stage_etc
from testbed.interop.image.initrd import build_initrd, init_script
from testbed.interop.image.manifest import Manifest, digest
from testbed.interop.image.stage import stage_code
from workloads.errors import HostCapabilityError

TOP = Path(__file__).resolve().parents[4]


def test_a_piece_is_made_when_key_and_files_are_as_noted(tmp_path):
    made = tmp_path / "kernel"
    Manifest(tmp_path).note("kernel", "key", version="6.1")
    again = Manifest(tmp_path)
    assert again.facts("kernel") == {"version": "6.1"}
    assert not again.is_made("kernel", "key", made)
    made.touch()
    assert again.is_made("kernel", "key", made)
    assert not again.is_made("kernel", "another key", made)
    assert not again.is_made("initrd", "key")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        '{"version": 99, "pieces": {"kernel": {"key": "key"}}}',
        '{"version": 0, "pieces": {"kernel": {"key": "key"}}}',
        '{"version": 1}',
    ],
)
def test_a_manifest_that_cannot_be_read_means_that_nothing_is_made(tmp_path, text):
    (tmp_path / "manifest.json").write_text(text)
    assert not Manifest(tmp_path).is_made("kernel", "key")


def test_a_digest_knows_where_its_parts_end():
    assert digest("ab", "c") != digest("a", "bc")
    assert digest("ab") == digest(b"ab")
    assert digest("ab", b"c") == digest("ab", "c")


def test_the_guest_sees_few_files_of_etc_and_none_of_our_secrets(tmp_path):
    source, target = tmp_path / "etc", tmp_path / "staged"
    (source / "iproute2").mkdir(parents=True)
    (source / "iproute2" / "rt_tables").write_text("254 main\n")
    for name in ("shadow", "passwd", "protocols"):
        (source / name).write_text(f"{name} of the host\n")
    target.mkdir()
    (target / "left over").touch()
    stage_etc(source, target)
    names = {path.name for path in target.iterdir()}
    assert names <= {*STAGED, "passwd", "group", "hosts", "hostname"}
    assert {"iproute2", "protocols", "passwd"} <= names
    assert "of the host" not in (target / "passwd").read_text()


def test_the_staged_code_is_all_that_the_guest_imports(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPYCACHEPREFIX", str(tmp_path / "elsewhere"))
    stage_code(TOP, tmp_path / "code")
    assert not list((tmp_path / "code").rglob("*.so"))
    compiled = list((tmp_path / "code").rglob("guest/**/runner.*.pyc"))
    if Path("/usr/bin/python3").exists():
        # Bits 0 and 1 of the flags: by hash, and unchecked (PEP 552), so a file system's times do not matter.
        assert [path.read_bytes()[4:8] for path in compiled] == [b"\x01\0\0\0"]
    # Of the libraries in the environment of this test, the guest has NumPy alone.
    site = Path(str(np.__file__)).parent.parent
    for library in ("numpy", "numpy.libs"):
        if (site / library).exists():
            (tmp_path / "guest").mkdir(exist_ok=True)
            (tmp_path / "guest" / library).symlink_to(site / library)
    paths = [str(tmp_path / "code"), str(tmp_path / "guest")]
    words = "import testbed.interop.guest.runner, testbed.interop.guest.allreduce, testbed.interop.guest.peer"
    command = [sys.executable, "-I", "-S", "-c", f"import sys; sys.path += {paths!r}; {words}"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr


def test_the_initramfs_loads_modules_in_the_order_given():
    modules = [("kernel/b.ko", b"B"), ("kernel/a.ko", b"A")]
    data = build_initrd(b"busybox", modules)
    archive = gzip.decompress(data)
    assert b"b.ko\na.ko\n" in archive
    assert init_script().encode() in archive
    assert build_initrd(b"busybox", modules) == data


@pytest.fixture
def tools(monkeypatch, tmp_path):
    """Stand-ins for apt and dpkg; what they were asked."""
    asked = []

    def run_tool(command, *, needed_for, remedy, cwd=None, limit_s=300):
        asked.append(tuple(command))
        if command[0] == "apt-cache":
            return "linux-image-amd64\n  Depends: linux-image-6.1.0-0-amd64\n  Suggests: other\n"
        if command[0] == "apt-get":
            (cwd / f"{command[-1]}_1%3a6.1-1_amd64.deb").write_bytes(b"deb")
        if command[0] == "dpkg":
            folder = Path(command[-1])
            (folder / "bin").mkdir(parents=True)
            (folder / "bin" / "busybox").write_bytes(b"busybox")
            if "linux-image" in command[-2]:
                (folder / "boot").mkdir()
                (folder / "boot" / "vmlinuz-6.1.0").write_bytes(b"image")
                modules = folder / "lib" / "modules" / "6.1.0"
                modules.mkdir(parents=True)
                names = prepare.BOOT_MODULES
                (modules / "modules.dep").write_text("".join(f"{name}.ko:\n" for name in names))
                (modules / "modules.builtin").write_text("")
                for name in names:
                    (modules / f"{name}.ko").write_bytes(name.encode())
        return ""

    monkeypatch.setattr(prepare, "run_tool", run_tool)
    monkeypatch.setattr(prepare, "extract_vmlinux", lambda image: b"ELF of " + image)
    monkeypatch.setattr(prepare, "stage_etc", lambda source, target: None)
    return asked


def test_pieces_are_fetched_once(tools, tmp_path):
    said = []
    image = prepare.prepare_image(tmp_path / "work", said.append)
    assert image.vmlinux.read_bytes() == b"ELF of image"
    assert image.versions == {"kernel": "1:6.1-1", "busybox": "1:6.1-1", "kernel_release": "6.1.0"}
    assert said[0] == "fetching the stock kernel linux-image-6.1.0-0-amd64 (70 MB, once)"
    tools.clear()
    assert prepare.prepare_image(tmp_path / "work", said.append) == image
    assert tools == []
    image.initrd.unlink()
    prepare.prepare_image(tmp_path / "work", said.append)
    assert image.initrd.exists()
    assert tools == []


def test_no_kernel_package_is_a_lacking_capability(monkeypatch, tmp_path):
    monkeypatch.setattr(prepare, "run_tool", lambda *words, **more: "")
    with pytest.raises(HostCapabilityError, match="the Debian package linux-image-amd64 in the package lists"):
        prepare.prepare_image(tmp_path, lambda text: None)
