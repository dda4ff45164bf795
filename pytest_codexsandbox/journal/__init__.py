"""Journal: reads and writes the journal on disk."""
