"""Memory systems beside each other: ranks, and gains over the model without memory with intervals paired by item."""
