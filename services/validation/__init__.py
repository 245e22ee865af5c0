"""Whether an object may be taken as it is, and what to write instead."""
