"""What evidence means: a verdict, whether a sandbox was on, and why something failed. Pure."""
