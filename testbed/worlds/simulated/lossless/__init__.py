"""Wires, hosts and switches of the simulated world that send and obey PFC."""
