"""Words of a command as a person can copy them into a shell."""

from __future__ import annotations

import shlex
from collections.abc import Iterable

from workloads.visible import visible

__all__ = ["shell_word", "shell_words"]

_PLAIN = range(0x20, 0x7F)


def shell_word(word: str) -> str:
    r"""Quoted where a shell needs it. `$'caf\xe9'`, as bash and zsh read it, where characters cannot be seen or a name
    of a file is not UTF-8."""
    if visible(word) == word:
        return shlex.quote(word)
    data = word.encode("utf-8", "surrogateescape" if _is_of_a_file(word) else "surrogatepass")
    shown = (chr(byte) if byte in _PLAIN and chr(byte) not in "'\\" else f"\\x{byte:02x}" for byte in data)
    return f"$'{''.join(shown)}'"


def shell_words(words: Iterable[str]) -> str:
    return " ".join(map(shell_word, words))


def _is_of_a_file(word: str) -> bool:
    """Halves of pairs stand for bytes that are not UTF-8."""
    return all("\udc80" <= found <= "\udcff" for found in word if "\ud800" <= found <= "\udfff")
