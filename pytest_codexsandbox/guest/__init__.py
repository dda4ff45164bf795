"""Guest: code that runs inside an environment, with the standard library of Python 3.9 or later only.

It imports no module of this project from outside this package. The modules may be copied into one folder of any name;
`agent.py` started as a file makes that folder this package.
"""
