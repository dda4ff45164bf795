"""Journal: reads and writes the journal on disk, and judges again what it reads."""
