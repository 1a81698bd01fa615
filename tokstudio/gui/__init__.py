"""The desktop application: it shows what the core does while it does it."""
