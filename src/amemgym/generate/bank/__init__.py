"""The scenario bank: fragments of text in data files, composed into scenarios by a seeded sampler."""
