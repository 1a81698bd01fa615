"""Tokenizers by name: repositories of the Hugging Face Hub and encodings of tiktoken.

`names` says what is a name, and `fetching` fetches one. The libraries with the connections and the caches run in a
child process, which can be ended while a connection stalls. Imports `core.base` only.
"""

# SPDX-License-Identifier: MIT
