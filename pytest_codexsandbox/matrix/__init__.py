"""Matrix: turns data files and promises into a plan, and applies known deviations to records. Pure."""
