"""What runs on every host of a lab, as an ordinary user: it owns leases, the registers of cards, and the processes of
runs."""
