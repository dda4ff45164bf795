"""Data model: frozen data that can be written as JSON and read back, and pure rules over it."""
