"""Reports for people and programs: each report is a pure function of a journal."""
