"""Tokenizers by name and texts by address: repositories of the Hugging Face Hub, encodings of tiktoken, stores.

`names` and `addresses` say what is one, `fetching` and `fetching_texts` fetch it. The libraries with the connections
run in child processes, which can be ended while a connection stalls. Imports `core.base` only.
"""

# SPDX-License-Identifier: MIT
