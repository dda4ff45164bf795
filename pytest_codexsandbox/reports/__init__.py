"""What people read: each report is a pure function of a journal that has been read."""
