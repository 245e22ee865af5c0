"""From entries to the lines of a bill, priced and summed up."""
