"""The address plan: host i (from 1) has 10.77.(i // 250).(i % 250 + 1) in 10.77.0.0/16 and MAC 02:49:4e:41:hh:ll."""

from __future__ import annotations

__all__ = [
    "MAX_HOSTS",
    "MAX_PORTS",
    "MAX_RACK_HOSTS",
    "MAX_RANKS",
    "MAX_SWITCHES",
    "PREFIX_LENGTH",
    "format_ip",
    "format_mac",
    "host_ip",
    "host_mac",
]

MAX_HOSTS = 32
"""most hosts of a rack with an accelerator"""
MAX_RACK_HOSTS = 1024
"""most hosts of a rack in virtual time"""
MAX_RANKS = 1024
"""hosts of one job, and of a fabric, in virtual time"""
MAX_PORTS = 64
"""most ports of one switch of this machine, and of a switch of a custom topology"""
MAX_SWITCHES = 512
"""most switches of a custom topology"""
PREFIX_LENGTH = 16


def host_ip(number: int) -> bytes:
    return bytes((10, 77, number // 250, number % 250 + 1))


def host_mac(number: int) -> bytes:
    return bytes((0x02, 0x49, 0x4E, 0x41, number >> 8, number & 0xFF))


def format_ip(ip: bytes) -> str:
    return ".".join(str(byte) for byte in ip)


def format_mac(mac: bytes) -> str:
    return ":".join(f"{byte:02x}" for byte in mac)
