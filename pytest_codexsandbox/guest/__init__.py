"""Code that runs inside an environment: standard library only, Python 3.9 and later, imports nothing else of ours.

The modules may be put into one folder of any name; `agent.py` started as a file makes that folder this package.
"""
