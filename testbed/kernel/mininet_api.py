"""Mininet's classes, imported without the side effects of its import. Import this module only where Mininet is
installed."""

from __future__ import annotations

import logging
import warnings

with warnings.catch_warnings():
    # Mininet imports distutils, and makes its own logger class the default of the whole process.
    warnings.simplefilter("ignore")
    _logger_class = logging.getLoggerClass()
    from mininet.link import Intf, Link
    from mininet.log import lg
    from mininet.net import VERSION, Mininet
    from mininet.node import Host, Node, Switch

    logging.setLoggerClass(_logger_class)

__all__ = ["MININET_VERSION", "Host", "Intf", "Link", "Mininet", "Node", "Switch", "lg"]

MININET_VERSION: str = VERSION
