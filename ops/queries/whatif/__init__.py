"""What if: the log forked at a point, changed, and run on in virtual time."""
