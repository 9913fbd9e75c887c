"""Proof that data is sound: the data set card with its leak gates, and the audit of what is said."""
