"""Diagnosis: decides the verdict, whether a sandbox was on, and why a call failed. Pure."""
