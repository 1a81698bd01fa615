"""The desktop application.

May import the core.
"""
