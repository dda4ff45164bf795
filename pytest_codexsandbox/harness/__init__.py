"""Harness: goes from a plan to observations and trials. Knows neither pytest nor argparse. Imports nothing here."""
