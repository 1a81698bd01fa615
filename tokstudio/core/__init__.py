"""The tokenizer library: trains, encodes, measures, reads and writes tokenizers.

May import neither Qt nor the window nor the command line.
"""
