"""The compiled loops, one file a kind. Nothing else in TokStudio is compiled.

Every loop here is `njit(nogil=True, cache=True)`: it holds no lock while it runs, and is compiled once an installation.
"""
