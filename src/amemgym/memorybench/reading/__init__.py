"""Reading an archive: which groups it has, where their files are, and what stands in them, however it is laid out."""
