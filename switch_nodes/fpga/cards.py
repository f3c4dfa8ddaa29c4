"""Cards of an emulated lab, by the words of `tb lab up --card`."""

__all__ = ["CARD_KINDS", "EMULATED", "RTL"]

CARD_KINDS = EMULATED, RTL = "emulated", "rtl"
"""a process in Python; the card in hardware, simulated"""
