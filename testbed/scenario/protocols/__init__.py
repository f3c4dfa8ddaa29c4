"""What names in a scenario file stand for: protocols of ours and of packages, and code of the user's own."""
