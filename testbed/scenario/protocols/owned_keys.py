"""Keys of `job` and `transport` that some protocols alone have.

The tag is `job.protocol`: a file that holds a key of other protocols is wrong, whatever its value. Resolved files
omit these keys.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from testbed.reading.problems import KeyPath, Problems, show
from testbed.reading.sections import KeyOf, Only, keys_of
from testbed.scenario.protocols.known import names_where, protocol_of
from testbed.scenario.protocols.protocol import KeyGroup, KnownProtocol

__all__ = ["check_owned_keys", "foreign_keys", "only", "takes"]


def only(holds: Callable[[KnownProtocol], object], lacks: str, shown: str = "") -> Only:
    """The mark of a key of those protocols for which `holds` is true. `lacks`: what the others do, as text that
    follows their name."""
    return Only(lambda: names_where(holds), f"protocol {{}} {lacks}", holds, shown)


def takes(group: KeyGroup, lacks: str) -> Only:
    """The mark of the keys of a group."""
    return only(lambda protocol: group in protocol.optional_keys(), lacks)


def foreign_keys(section: type, name: str) -> Iterator[KeyOf]:
    """Keys of the section that a protocol does not have. A protocol of the user's own runs files of one of ours, and
    so has its keys, too."""
    protocol = protocol_of(name)
    asked = [protocol, *([protocol_of(protocol.like)] if protocol.like else [])]
    return (key for key in keys_of(section) if key.only is not None and not any(map(key.only.holds, asked)))


def check_owned_keys(problems: Problems, path: KeyPath, section: type, given: Mapping[str, Any], name: str) -> None:
    """`given`: what the file holds at `path`."""
    for key in foreign_keys(section, name):
        if key.name in given and key.only is not None:
            problems.add(
                (*path, key.name),
                key.only.lacks.format(name),
                found=show(given[key.name]),
                allowed=f"leave the key out, or job.protocol: {', '.join(key.only.names())}",
            )
