"""Harness: goes from a plan to observations and trials. Uses neither pytest nor argparse. This file imports nothing."""
