"""The archive, read back by a reader that follows the format's text, and by cpio where there is one."""

from __future__ import annotations

import shutil
import stat
import subprocess

import pytest

from testbed.interop.image.newc import device, directory, file, newc_archive, symlink

ENTRIES = (
    device("dev/console", 5, 1),
    file("bin/busybox", b"#!" + b"x" * 1001, 0o755),
    symlink("bin/sh", "busybox"),
    directory("bin"),
    file("empty", b""),
)


def members(archive: bytes):
    """(name, fields, data) of each member. Fields: inode, mode, uid, gid, links, mtime, size, dev, dev, rdev, rdev,
    name size."""
    at = 0
    while True:
        assert at % 4 == 0
        assert archive[at : at + 6] == b"070701"
        fields = [int(archive[at + 6 + 8 * n : at + 14 + 8 * n], 16) for n in range(13)]
        size, name_size = fields[6], fields[11]
        name = archive[at + 110 : at + 110 + name_size - 1].decode()
        assert archive[at + 110 + name_size - 1] == 0
        start = -(-(at + 110 + name_size) // 4) * 4
        at = -(-(start + size) // 4) * 4
        if name == "TRAILER!!!":
            assert at == len(archive)
            return
        yield name, fields, archive[start : start + size]


def test_what_went_in_comes_out():
    found = {name: (fields, data) for name, fields, data in members(newc_archive(ENTRIES))}
    assert list(found) == ["dev", "dev/console", "bin", "bin/busybox", "bin/sh", "empty"]
    assert found["bin/busybox"][1] == ENTRIES[1].data
    assert found["bin/sh"] == (found["bin/sh"][0], b"busybox")
    modes = {name: fields[1] for name, (fields, _) in found.items()}
    assert modes["bin/busybox"] == stat.S_IFREG | 0o755
    assert (stat.S_ISDIR(modes["dev"]), stat.S_ISLNK(modes["bin/sh"]), stat.S_ISCHR(modes["dev/console"])) == (
        True,
    ) * 3
    assert found["dev/console"][0][9:11] == [5, 1]
    inodes = [fields[0] for fields, _ in found.values()]
    assert len(set(inodes)) == len(inodes)


def test_the_same_entries_give_the_same_bytes():
    assert newc_archive(ENTRIES) == newc_archive(ENTRIES)


@pytest.mark.parametrize(
    ("entries", "told"),
    [
        ((file("/etc/passwd", b""),), "path '/etc/passwd' leaves the archive"),
        ((file("a/../../b", b""),), "path 'a/../../b' leaves the archive"),
        ((file("a", b""), file("a", b"")), "path 'a' appears twice"),
        ((file("a", b""), directory("a")), "path 'a' appears twice"),
    ],
)
def test_paths_that_cannot_be(entries, told):
    with pytest.raises(ValueError, match=told):
        newc_archive(entries)


@pytest.mark.skipif(shutil.which("cpio") is None, reason="no cpio here; the reader above stands alone")
def test_cpio_lists_it():
    done = subprocess.run(["cpio", "-t"], input=newc_archive(ENTRIES), capture_output=True, check=True)
    assert done.stdout.decode().split() == ["dev", "dev/console", "bin", "bin/busybox", "bin/sh", "empty"]
