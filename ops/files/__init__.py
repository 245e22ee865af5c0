"""Files: what others wrote is read within bounds, what we write is written whole."""
