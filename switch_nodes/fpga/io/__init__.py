"""Sockets and files that lead to the registers of cards."""
