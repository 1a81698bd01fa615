"""The tokenizer library: trains, encodes, measures, reads and writes tokenizers.

Imports neither Qt nor the window nor the command line.
"""
