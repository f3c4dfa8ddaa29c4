"""What this machine can do, found out by doing it; what is used where it cannot."""

from testbed.doctor.model import Probe
from testbed.doctor.probes import probe_all, require
from testbed.doctor.table import as_json, as_lines

__all__ = ["Probe", "as_json", "as_lines", "probe_all", "require"]
