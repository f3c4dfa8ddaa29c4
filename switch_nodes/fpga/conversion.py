"""Between the configuration of a switch and the words of a configuration bank, both ways."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace

from switch_nodes.config import LeafLinks, RingConfig, RingMember, SpineLinks, SwitchConfig
from switch_nodes.fpga.errors import RegisterValueError
from switch_nodes.fpga.regmap import (
    DTYPES,
    GATES,
    MAX_MACS,
    MAX_PORTS,
    MAX_RINGS,
    OPS,
    REGISTERS,
    RELEASES,
    RingRole,
)
from switch_nodes.netreduce.ring_checks import check_ring
from workloads.collectives.ina_header import MAX_MEMBERS
from workloads.config import ArithmeticSpec
from workloads.errors import ScenarioError

__all__ = ["FPGA_PROGRAM", "as_registers_say", "config_of", "slots_of", "text_of", "text_words", "words_of"]

FPGA_PROGRAM = "fpga"
"""the name in `SwitchConfig.program`"""
_LABEL_BYTES = 32
_FREE = ("name", "program", "ports", "macs", "rings", "release", "gate", "flow_salt", "flood_ports", "hairpin")
"""fields of SwitchConfig that registers hold, or that mean nothing without the others"""
_MASK = 0xFFFFFFFF


def as_registers_say(config: SwitchConfig) -> SwitchConfig:
    """The configuration as it comes back. The order of flood ports, the salt of groups that a card does not have, and
    the port of a leaf's predecessor mean nothing."""
    flood = None if config.flood_ports is None else tuple(sorted(set(config.flood_ports)))
    rings = tuple(
        replace(ring, links=replace(ring.links, predecessor=replace(ring.links.predecessor, port=-1)))
        if isinstance(ring.links, LeafLinks)
        else ring
        for ring in config.rings
    )
    return replace(config, program=FPGA_PROGRAM, flow_salt=0, flood_ports=flood, rings=rings)


def slots_of(config: SwitchConfig) -> int:
    """Slots that the rings take: the sum of 2 N L."""
    return sum(2 * ring.window_messages * ring.message_packets for ring in config.rings)


def text_words(text: str, count: int) -> list[int]:
    """UTF-8 in `count` words, the first character in the lowest byte. Raises ValueError when it is too long."""
    data = text.encode("utf-8")
    if len(data) > 4 * count or "\0" in text:
        raise ValueError(f"{text!r} is no text of at most {4 * count} bytes")
    data = data.ljust(4 * count, b"\0")
    return [int.from_bytes(data[at : at + 4], "little") for at in range(0, 4 * count, 4)]


def text_of(words: Sequence[int]) -> str:
    """The inverse of `text_words`. Raises ValueError when the bytes are no text."""
    return b"".join(word.to_bytes(4, "little") for word in words).rstrip(b"\0").decode("utf-8")


def words_of(config: SwitchConfig) -> dict[int, int]:
    """The words that differ from those after power-on, by address, ascending. Raises ScenarioError for what the
    registers cannot express, and for rings that cannot be installed."""
    _check(config)
    writer = _Writer()
    for index, word in enumerate(text_words(config.name, _LABEL_BYTES // 4)):
        writer.put("LABEL", word, index)
    writer.put("RELEASE", RELEASES.index(config.release))
    writer.put("GATE", GATES.index(config.gate))
    writer.put("HAIRPIN", int(config.hairpin))
    writer.put("FLOOD_ALL", int(config.flood_ports is None))
    writer.put("FLOOD_PORTS", sum({1 << port for port in config.flood_ports or ()}))
    writer.put("MAC_COUNT", len(config.macs))
    writer.put("RING_COUNT", len(config.rings))
    for number, (mac, port) in enumerate(config.macs):
        writer.put(f"MAC{number}_HIGH", int.from_bytes(mac[:2], "big"))
        writer.put(f"MAC{number}_LOW", int.from_bytes(mac[2:], "big"))
        writer.put(f"MAC{number}_PORT", port)
    for number, ring in enumerate(config.rings):
        _write_ring(writer, f"RING{number}_", ring)
    return {address: word for address, word in sorted(writer.words.items()) if word}


def _write_ring(writer: _Writer, prefix: str, ring: RingConfig) -> None:
    values = {
        "ID": ring.ring_id, "OP": OPS.index(ring.arithmetic.op), "DTYPE": DTYPES.index(ring.arithmetic.dtype),
        "PACKETS": ring.message_packets, "WINDOW": ring.window_messages, "PATH_MTU": ring.path_mtu,
        "GENERATION": ring.generation, "FAMILY": 4 if len(ring.members[0].ip) == 4 else 6, "MEMBERS": len(ring.members),
    }  # fmt: skip
    links, successors = ring.links, [b""] * len(ring.members)
    if isinstance(links, LeafLinks):
        values |= {"ROLE": RingRole.LEAF, "GROUP": links.group, "UPLINKS": len(links.uplinks)}
        values["PREDECESSOR_RANK"] = links.predecessor.rank
        writer.put_ip(f"{prefix}PREDECESSOR_IP", links.predecessor.ip)
        writer.put_ip(f"{prefix}SUCCESSOR_IP", links.successor_ip)
        for index, port in enumerate(links.uplinks):
            writer.put(f"{prefix}UPLINK_PORT", port, index)
    elif isinstance(links, SpineLinks):
        values |= {"ROLE": RingRole.SPINE, "GROUP": links.group, "SPINE_NUMBER": links.number, "SPINES": links.spines}
        successors = list(links.successor_ips)
    for name, value in values.items():
        writer.put(prefix + name, int(value))
    for number, (member, successor) in enumerate(zip(ring.members, successors, strict=True)):
        writer.put(f"{prefix}MEMBER{number}_RANK", member.rank)
        writer.put(f"{prefix}MEMBER{number}_PORT", member.port)
        writer.put_ip(f"{prefix}MEMBER{number}_IP", member.ip)
        writer.put_ip(f"{prefix}MEMBER{number}_SUCCESSOR_IP", successor)


def _check(config: SwitchConfig) -> None:
    def refuse(problem: str, found: object, allowed: str) -> ScenarioError:
        return ScenarioError(f"switch {config.name}: {problem}", found=str(found), allowed=allowed)

    for field in fields(SwitchConfig):
        value = getattr(config, field.name)
        if field.name not in _FREE and value != field.default:
            raise refuse(f"{field.name}: a card has no registers for it", value, f"{field.default!r} with program fpga")
    if len(config.name.encode("utf-8")) > _LABEL_BYTES or "\0" in config.name:
        raise refuse("the name does not fit register LABEL", repr(config.name), f"at most {_LABEL_BYTES} bytes")
    for name, found, known in (("release", config.release, RELEASES), ("gate", config.gate, GATES)):
        if found not in known:
            raise refuse(name, found, ", ".join(known))
    for what, number, most in (
        ("ports", config.ports, MAX_PORTS),
        ("static forwarding entries", len(config.macs), MAX_MACS),
        ("rings", len(config.rings), MAX_RINGS),
    ):
        if number > most:
            raise refuse(f"too many {what} for the registers of a card", number, f"at most {most}")
    for mac, port in config.macs:
        if len(mac) != 6 or not 0 <= port < config.ports:
            raise refuse(f"entry of MAC {mac.hex(':')}", f"port {port}", f"6 bytes, port 0 .. {config.ports - 1}")
    for port in config.flood_ports or ():
        if not 0 <= port < config.ports:
            raise refuse("flood port", port, f"0 .. {config.ports - 1}")
    for ring in config.rings:
        check_ring(ring, config)
        if not 0 <= ring.generation <= _MASK:
            raise refuse(f"ring {ring.ring_id}: generation", ring.generation, f"0 .. {_MASK}")
        _check_links(config, ring)


def _check_links(config: SwitchConfig, ring: RingConfig) -> None:
    """Of leaves and spines: addresses of the family of the members', and no more uplinks than registers."""
    links = ring.links
    if links is None:
        return
    far = (links.predecessor.ip, links.successor_ip) if isinstance(links, LeafLinks) else links.successor_ips
    if any(len(ip) != len(ring.members[0].ip) for ip in far):
        raise ScenarioError(f"switch {config.name}: ring {ring.ring_id}: addresses of two families")
    if links.group > MAX_MEMBERS:
        # a card of map 1.2 compares one byte of the size that the INA header names
        raise ScenarioError(
            f"switch {config.name}: ring {ring.ring_id}: hosts of the whole ring", found=str(links.group),
            allowed=f"at most {MAX_MEMBERS} with program fpga",
        )  # fmt: skip
    if isinstance(links, LeafLinks) and len(links.uplinks) > MAX_PORTS:
        raise ScenarioError(f"switch {config.name}: ring {ring.ring_id}: more than {MAX_PORTS} uplinks")


def config_of(words: Mapping[int, int], ports: int) -> SwitchConfig:
    """What the words of a bank say; words that are not there are 0. `ports`: that the card has. Raises
    RegisterValueError for the first register that holds what it cannot."""
    read = _Reader(words)
    macs = []
    for number in range(read.number("MAC_COUNT", 0, MAX_MACS)):
        high, low = read.number(f"MAC{number}_HIGH", 0, 0xFFFF), read.number(f"MAC{number}_LOW", 0, _MASK)
        macs.append((high.to_bytes(2, "big") + low.to_bytes(4, "big"), read.number(f"MAC{number}_PORT", 0, ports - 1)))
    rings = [_read_ring(read, f"RING{number}_", ports) for number in range(read.number("RING_COUNT", 0, MAX_RINGS))]
    flood: tuple[int, ...] | None = None
    if not read.number("FLOOD_ALL", 0, 1):
        mask = read.number("FLOOD_PORTS", 0, (1 << ports) - 1)
        flood = tuple(port for port in range(ports) if mask >> port & 1)
    return SwitchConfig(
        name=read.text("LABEL"),
        program=FPGA_PROGRAM,
        ports=ports,
        macs=tuple(macs),
        rings=tuple(rings),
        release=read.name("RELEASE", RELEASES),
        gate=read.name("GATE", GATES),
        flood_ports=flood,
        hairpin=bool(read.number("HAIRPIN", 0, 1)),
    )


def _read_ring(read: _Reader, prefix: str, ports: int) -> RingConfig:
    family = read.choice(f"{prefix}FAMILY", (4, 6))
    role = RingRole(read.number(f"{prefix}ROLE", 0, max(RingRole)))
    count = read.number(f"{prefix}MEMBERS", 1, MAX_MEMBERS)
    members, successors = [], []
    for number in range(count):
        member = f"{prefix}MEMBER{number}_"
        rank = read.number(f"{member}RANK", 0, MAX_MEMBERS - 1)
        port = read.number(f"{member}PORT", 0, ports - 1)
        members.append(RingMember(rank, read.ip(f"{member}IP", family), port))
        successors.append(read.ip(f"{member}SUCCESSOR_IP", family))
    links: LeafLinks | SpineLinks | None = None
    if role is RingRole.LEAF:
        uplinks = tuple(
            read.number(f"{prefix}UPLINK_PORT", 0, ports - 1, index)
            for index in range(read.number(f"{prefix}UPLINKS", 1, MAX_PORTS))
        )
        rank = read.number(f"{prefix}PREDECESSOR_RANK", 0, MAX_MEMBERS - 1)
        before = RingMember(rank, read.ip(f"{prefix}PREDECESSOR_IP", family), -1)
        behind = read.ip(f"{prefix}SUCCESSOR_IP", family)
        links = LeafLinks(read.number(f"{prefix}GROUP", 2, MAX_MEMBERS), uplinks, before, behind)
    elif role is RingRole.SPINE:
        group = read.number(f"{prefix}GROUP", 2, MAX_MEMBERS)
        spines = read.number(f"{prefix}SPINES", 1, _MASK)
        links = SpineLinks(group, tuple(successors), read.number(f"{prefix}SPINE_NUMBER", 0, spines - 1), spines)
    return RingConfig(
        ring_id=read.number(f"{prefix}ID", 0, 0xFFFF),
        members=tuple(members),
        arithmetic=ArithmeticSpec(read.name(f"{prefix}OP", OPS), read.name(f"{prefix}DTYPE", DTYPES)),
        message_packets=read.number(f"{prefix}PACKETS", 1, 0xFFFF),
        window_messages=read.number(f"{prefix}WINDOW", 1, _MASK),
        path_mtu=read.choice(f"{prefix}PATH_MTU", (256, 512, 1024, 2048, 4096)),
        generation=read.number(f"{prefix}GENERATION", 0, _MASK),
        links=links,
    )


class _Writer:
    def __init__(self) -> None:
        self.words: dict[int, int] = {}

    def put(self, name: str, value: int, index: int = 0) -> None:
        register = REGISTERS[name]
        for word in range(register.width // 32):
            self.words[register.at(index) + 4 * word] = value >> 32 * word & _MASK

    def put_ip(self, name: str, ip: bytes) -> None:
        for index in range(len(ip) // 4):
            self.put(name, int.from_bytes(ip[4 * index : 4 * index + 4], "big"), index)


class _Reader:
    def __init__(self, words: Mapping[int, int]) -> None:
        self._words = words

    def number(self, name: str, low: int, high: int, index: int = 0) -> int:
        register = REGISTERS[name]
        address = register.at(index)
        value = sum(self._words.get(address + 4 * word, 0) << 32 * word for word in range(register.width // 32))
        if not low <= value <= high:
            raise RegisterValueError(address, value, f"{low} .. {high}")
        return value

    def choice(self, name: str, allowed: tuple[int, ...]) -> int:
        value = self.number(name, 0, _MASK)
        if value not in allowed:
            raise RegisterValueError(REGISTERS[name].address, value, ", ".join(map(str, allowed)))
        return value

    def name(self, name: str, words: tuple[str, ...]) -> str:
        return words[self.number(name, 0, len(words) - 1)]

    def ip(self, name: str, family: int) -> bytes:
        count = 1 if family == 4 else 4
        return b"".join(self.number(name, 0, _MASK, index).to_bytes(4, "big") for index in range(count))

    def text(self, name: str) -> str:
        register = REGISTERS[name]
        try:
            return text_of([self._words.get(register.at(index), 0) for index in range(register.count)])
        except UnicodeDecodeError:
            raise RegisterValueError(register.address, self._words.get(register.address, 0), "UTF-8") from None
