"""Small reusable widgets without core logic."""
