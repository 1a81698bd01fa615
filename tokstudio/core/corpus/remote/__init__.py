"""Reads texts by their addresses, on the Hugging Face Hub, servers and stores, and takes samples there.

All but `preview` runs in a child process, which `core.hub.fetching_texts` starts. Imports `core.corpus.readers` and
`core.hub`.
"""

# SPDX-License-Identifier: MIT
