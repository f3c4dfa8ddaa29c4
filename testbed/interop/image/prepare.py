"""Fetch and make what the guest boots from. Nothing is installed for it; all lands in one work folder."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from testbed.interop.image.etc import stage_etc
from testbed.interop.image.initrd import BOOT_MODULES, build_initrd, init_script, read_modules
from testbed.interop.image.manifest import Manifest, digest
from testbed.interop.image.modules import insertion_order, parse_dependencies
from testbed.interop.image.vmlinux import extract_vmlinux
from testbed.interop.packages import run_tool
from workloads.errors import HostCapabilityError
from workloads.trusted import open_private

__all__ = ["Image", "default_work_folder", "prepare_image"]

_KERNEL = "linux-image-amd64"
_BUSYBOX = "busybox-static"
_OFFLINE = "is the network up, and does `apt-get update` work by hand?"
_MAKE = "4"
"""change it when the way of making changes"""


@dataclass(frozen=True, slots=True)
class Image:
    vmlinux: Path
    initrd: Path
    etc: Path
    versions: dict[str, str]
    """package -> version, for reports"""


def default_work_folder() -> Path:
    """`.tb/interop` of a checkout, else in the user's cache."""
    top = Path(__file__).resolve().parents[3]
    if (top / "setup.cfg").exists():
        return top / ".tb" / "interop"
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "ina-testbed" / "interop"


def prepare_image(work: Path, say: Callable[[str], None]) -> Image:
    """Make what is missing in `work`; later calls need neither network nor root. Raises HostCapabilityError when the
    packages cannot be had, or hold no kernel that will do."""
    work.mkdir(parents=True, exist_ok=True)
    with _locked(work / "lock"):
        manifest = Manifest(work)
        kernel, busybox = work / "kernel", work / "busybox"
        if not manifest.is_made("kernel", _MAKE, kernel / "vmlinux", kernel / "lib" / "modules"):
            _make_kernel(work, kernel, manifest, say)
        if not manifest.is_made("busybox", _MAKE, busybox):
            _make_busybox(work, busybox, manifest, say)
        modules = kernel / "lib" / "modules" / manifest.facts("kernel")["release"]
        initrd = work / "initrd.gz"
        key = digest(_MAKE, init_script(), str(manifest.facts("kernel")), str(manifest.facts("busybox")))
        if not manifest.is_made("initrd", key, initrd):
            initrd.write_bytes(build_initrd(busybox.read_bytes(), read_modules(modules, _boot_order(modules))))
            manifest.note("initrd", key)
        stage_etc(Path("/etc"), work / "etc")
        versions = {piece: manifest.facts(piece)["version"] for piece in ("kernel", "busybox")}
        versions["kernel_release"] = manifest.facts("kernel")["release"]
        return Image(kernel / "vmlinux", initrd, work / "etc", versions)


def _boot_order(modules: Path) -> tuple[str, ...]:
    dependencies = parse_dependencies((modules / "modules.dep").read_text(encoding="utf-8"))
    builtin = (modules / "modules.builtin").read_text(encoding="utf-8").split()
    return insertion_order(dependencies, BOOT_MODULES, builtin)


def _make_kernel(work: Path, target: Path, manifest: Manifest, say: Callable[[str], None]) -> None:
    package = _kernel_package()
    say(f"fetching the stock kernel {package} (70 MB, once)")
    archive = _download(work, package)
    say("unpacking it")
    fresh = work / "kernel.new"
    _unpack(archive, fresh, needed_for="the guest's kernel")
    images = sorted((fresh / "boot").glob("vmlinuz-*"))
    if len(images) != 1:
        raise HostCapabilityError(f"one kernel image in {archive.name}", "remove the work folder and try again")
    release = images[0].name.removeprefix("vmlinuz-")
    (fresh / "vmlinux").write_bytes(extract_vmlinux(images[0].read_bytes()))
    run_tool(
        ["depmod", "-b", str(fresh), release],
        needed_for="the guest's modules",
        remedy="install the Debian package kmod",
    )
    shutil.rmtree(target, ignore_errors=True)
    fresh.rename(target)
    manifest.note("kernel", _MAKE, package=package, version=_version_of(archive), release=release)
    archive.unlink()


def _make_busybox(work: Path, target: Path, manifest: Manifest, say: Callable[[str], None]) -> None:
    say(f"fetching {_BUSYBOX}")
    archive = _download(work, _BUSYBOX)
    fresh = work / "busybox.new"
    _unpack(archive, fresh, needed_for="the guest's busybox")
    shutil.copy2(
        next(path for path in (fresh / "bin" / "busybox", fresh / "usr" / "bin" / "busybox") if path.exists()), target
    )
    shutil.rmtree(fresh)
    manifest.note("busybox", _MAKE, package=_BUSYBOX, version=_version_of(archive))
    archive.unlink()


def _kernel_package() -> str:
    """What the meta package stands for. The cloud kernels have neither rdma_rxe nor 9p."""
    text = run_tool(["apt-cache", "depends", _KERNEL], needed_for="the name of the stock kernel", remedy=_OFFLINE)
    for line in text.splitlines():
        kind, _, name = line.strip().partition(": ")
        if kind == "Depends" and name.startswith("linux-image-"):
            return name
    raise HostCapabilityError(f"the Debian package {_KERNEL} in the package lists", _OFFLINE)


def _download(work: Path, package: str) -> Path:
    folder = work / "downloads"
    folder.mkdir(exist_ok=True)
    for old in folder.glob(f"{package}_*.deb"):
        old.unlink()
    # apt's own sandbox user cannot write into a checkout.
    command = ["apt-get", "-q", "-o", "APT::Sandbox::User=root", "download", package]
    run_tool(command, cwd=folder, needed_for=f"the Debian package {package}", remedy=_OFFLINE)
    found = sorted(folder.glob(f"{package}_*.deb"))
    if not found:
        raise HostCapabilityError(f"the Debian package {package}", _OFFLINE)
    return found[-1]


def _unpack(archive: Path, folder: Path, *, needed_for: str) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    run_tool(
        ["dpkg", "-x", str(archive), str(folder)],
        needed_for=needed_for,
        remedy="is the disk full (the kernel takes 400 MB)?",
    )


def _version_of(archive: Path) -> str:
    """`name_version_arch.deb`; apt writes a colon as %3a."""
    return archive.stem.split("_")[1].replace("%3a", ":")


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """One process at a time makes things in a work folder."""
    handle = open_private(path)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
