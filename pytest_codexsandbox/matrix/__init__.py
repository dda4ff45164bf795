"""Pure: from data files and promises to a plan, and from records and expectations to verdicts that were expected."""
