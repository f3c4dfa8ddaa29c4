"""Captures: pcapng files, what a switch saw written as one, and one split by link."""
