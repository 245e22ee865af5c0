"""The admitter: who gets quota, from which flavor, and who is admitted."""
