"""Nodes of the emulated world that send and obey PFC."""
