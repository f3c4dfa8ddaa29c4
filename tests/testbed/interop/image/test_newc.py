from __future__ import annotations

import stat

import pytest

from testbed.interop.image.newc import device, directory, file, newc_archive, symlink


def members(archive: bytes) -> list[tuple[str, int, bytes, tuple[int, int], int]]:
    """A second reading of the format: (path, mode, data, device number, inode) up to the trailer."""
    found, at = [], 0
    while True:
        assert archive[at : at + 6] == b"070701"
        fields = [int(archive[at + 6 + 8 * n : at + 14 + 8 * n], 16) for n in range(13)]
        inode, mode, size, major, minor, name_size = fields[0], fields[1], fields[6], fields[9], fields[10], fields[11]
        name = archive[at + 110 : at + 110 + name_size]
        assert name.endswith(b"\0")
        at = -(-(at + 110 + name_size) // 4) * 4
        data, at = archive[at : at + size], -(-(at + size) // 4) * 4
        if name == b"TRAILER!!!\0":
            assert at == len(archive)
            return found
        found.append((name[:-1].decode(), mode, data, (major, minor), inode))


def test_what_was_put_in_comes_out():
    archive = newc_archive(
        [
            file("init", b"#!/bin/sh\n", 0o755),
            symlink("bin/sh", "busybox"),
            device("dev/console", 5, 1),
            directory("proc"),
        ]
    )
    found = {path: rest for path, *rest in members(archive)}
    assert list(found) == ["init", "bin", "bin/sh", "dev", "dev/console", "proc"]
    assert found["init"][:2] == [stat.S_IFREG | 0o755, b"#!/bin/sh\n"]
    assert found["bin/sh"][:2] == [stat.S_IFLNK | 0o777, b"busybox"]
    assert found["dev/console"][0] == stat.S_IFCHR | 0o600
    assert found["dev/console"][2] == (5, 1)
    assert found["bin"][0] == found["proc"][0] == stat.S_IFDIR | 0o755


def test_every_member_is_a_file_of_its_own():
    """The kernel takes members with one inode number for hard links."""
    inodes = [inode for *_, inode in members(newc_archive([file(f"f{n}", b"x") for n in range(5)]))]
    assert len(set(inodes)) == 5


@pytest.mark.parametrize("size", range(9))
def test_names_and_data_of_any_length(size):
    archive = newc_archive([file("n" * (size + 1), bytes(range(size)))])
    assert [(path, data) for path, _, data, *_ in members(archive)] == [("n" * (size + 1), bytes(range(size)))]


@pytest.mark.parametrize("path", ["/etc/passwd", "a/../../b"])
def test_a_path_that_leaves_the_archive_is_refused(path):
    with pytest.raises(ValueError, match="leaves the archive"):
        newc_archive([file(path, b"")])


def test_a_path_cannot_appear_twice():
    with pytest.raises(ValueError, match="'a' appears twice"):
        newc_archive([file("a", b"1"), file("a", b"2")])
    newc_archive([file("d/a", b"1"), directory("d")])
