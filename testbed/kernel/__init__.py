"""What we ask of Linux: processes by identity, network namespaces, interfaces and their shaping."""
