"""How far protocols are from being folders that can be deleted: no count of `tests.support.house` grows."""

from __future__ import annotations

import ast

import pytest

from tests.support import house

MOST = {
    "open types in the contract": 0,
    "functions named by strings": 0,
    "flags of a protocol": 0,
    "files that ask a flag": 0,
    "functions with nine or more parameters": 0,
    "public classes that share a name": 0,
    "files outside its folders that name a protocol": 0,
    "modules outside transports that know a RoCE field": 0,
}
"""of today; if you lower a count, lower it here, too"""


@pytest.mark.parametrize("words", MOST)
def test_no_count_grows(words: str) -> None:
    found = list(house.MEASURES[words]())
    assert len(found) <= MOST[words], "\n".join(found)


@pytest.mark.protocols("all")
def test_every_file_that_may_name_a_protocol_does() -> None:
    """Otherwise its line, and the reason, are out of date."""
    assert set(house.RIGHTLY_NAMED) - {place for place, _ in house.naming_at_all()} == set()
    folders = [folder for more in house.MORE_FOLDERS.values() for folder in more]
    assert [folder for folder in folders if not (house.ROOT / folder).is_dir()] == []


def test_every_count_has_its_limit() -> None:
    assert set(MOST) == set(house.MEASURES)


@pytest.mark.parametrize(
    ("annotation", "is_open"),
    [
        ("Any", True), ("type[Any] | None", True), ("Callable[..., Plan]", True),
        ("tuple[Callable[..., None], ...]", True),
        ("Callable[[Plan], float]", False), ("tuple[Checker, ...]", False), ("Mapping[str, object]", False),
    ],
)  # fmt: skip
def test_what_a_type_leaves_open(annotation: str, is_open: bool) -> None:
    assert house.is_open(ast.parse(annotation, mode="eval").body) is is_open


@pytest.mark.parametrize(
    "text",
    [
        "frame[12:14]", "frame[at + 4]", "frame[23]", "found.frame[6:12]", "view[36:38]", "head[udp + 2 : udp + 4]",
        "get16(frame, 36)", "put8(draft, at - 6, 1)", "_IP_AT = 14", "_UDP_AT, _IP_AT = UDP_AT, 14",
        "_ETHERNET_BYTES = 14", "SIZE = 14 + 20 + 8", "CODEC = struct.Struct('!6s6sH')",
    ],
)  # fmt: skip
def test_a_place_in_a_frame_that_a_number_names_is_found(text: str) -> None:
    assert any(house.literal_place(node) for node in ast.walk(ast.parse(text)))


@pytest.mark.parametrize(
    "text",
    [
        "frame[ETHERTYPE]", "frame[_AT : _AT + size]", "frame[:64]", "frame[0]", "get16(frame, _TYPE_AT)",
        "_IP_AT = ETHERNET.size", "_TRIES = 14", "struct.Struct('=QQ')", "values[12]",
    ],
)  # fmt: skip
def test_a_place_that_a_layout_names_is_not(text: str) -> None:
    assert not any(house.literal_place(node) for node in ast.walk(ast.parse(text)))


def test_the_endpoints_of_transports_are_known() -> None:
    assert {"RcEndpoint", "UcEndpoint", "NativeRcEndpoint", "NativeIrnEndpoint"} <= house.endpoints()
