"""One run from its scenario to its exit code; what it leaves on disk, and how that is run again."""
