"""DLCP / MLT, a reconstruction: gradients whose flows end when most of their packets are there (docs/dlcp.md)."""

from workloads.dlcp.config import DlcpConfig

__all__ = ["DlcpConfig"]
