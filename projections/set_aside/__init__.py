"""What services have set aside because they failed on it, and what has it taken up again."""
