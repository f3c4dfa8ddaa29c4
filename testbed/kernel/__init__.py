"""What is asked of Linux: processes by identity, namespaces, interfaces and their shaping; the ledger of what a run
owns."""
