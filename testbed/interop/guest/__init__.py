"""What runs inside the guest. It imports `workloads`, `testbed.interop.protocol` and what Debian's /usr has, nothing
else."""
