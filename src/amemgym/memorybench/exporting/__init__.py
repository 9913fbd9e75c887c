"""Our own runs as an archive of results, in the published layout."""
