"""The tokenizer library: trains, encodes, measures, reads and writes. It has never heard of Qt."""
