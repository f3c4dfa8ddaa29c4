"""One driver per kind of node of a lab. A driver declares its steps: name, what each does, what it needs, how it is
undone."""

from testbed.lab.drivers.card import LabCardDriver, read_bitstream
from testbed.lab.drivers.host import HostDriver
from testbed.lab.drivers.step import Driver, DriverStep, Undoing

__all__ = ["Driver", "DriverStep", "HostDriver", "LabCardDriver", "Undoing", "read_bitstream"]
