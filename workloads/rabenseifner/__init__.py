"""Rabenseifner's all-reduce between ranks."""
