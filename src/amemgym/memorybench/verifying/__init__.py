"""Every summary recomputed, and the cause of each number that does not come out."""
