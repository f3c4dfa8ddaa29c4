from __future__ import annotations

import os
import subprocess

import pytest

from testbed.terminal.shellwords import shell_words


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        (b"plain.yaml", "plain.yaml"),
        (b"two words", "'two words'"),
        ("größe".encode(), "'größe'"),
        (b"caf\xe9/l\xff.yaml", r"$'caf\xe9/l\xff.yaml'"),
        (b"a\x1b[31m", r"$'a\x1b[31m'"),
        (b"it's \\ \xe9a", r"$'it\x27s \x5c \xe9a'"),
        ("größe".encode() + b"\xe9", r"$'gr\xc3\xb6\xc3\x9fe\xe9'"),
    ],
)
def test_a_shell_reads_the_same_name(name: bytes, shown: str) -> None:
    assert shell_words([os.fsdecode(name)]) == shown
    read = subprocess.run(["bash", "-c", f"printf %s {shown}"], capture_output=True, check=True)
    assert read.stdout == name


def test_half_of_a_pair_is_shown() -> None:
    assert shell_words(["\ud800", "x"]) == r"$'\xed\xa0\x80' x"
