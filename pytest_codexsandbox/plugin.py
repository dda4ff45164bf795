"""pytest's entry. Inert until its flag, its marker or its fixtures are used."""
