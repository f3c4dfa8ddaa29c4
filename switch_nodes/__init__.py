import workloads  # noqa: F401  # its finder, before a module of ours that may be compiled
