"""What is done to a lab, in the order in which it is done: `plays` for programs, `tasks` for fabric's command line."""
