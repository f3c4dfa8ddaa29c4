"""Lossless forwarding: buffers with ingress accounting, thresholds of PFC, pauses, and the watchdog. Nothing here does
I/O or knows a clock."""
