"""Table models over numpy arrays."""
