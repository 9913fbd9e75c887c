"""MemoryBench's data points and feedback conversations, told to our agents as recorded sessions."""
