"""The search for domains that hold the pods of one pod set: by count, by order, balanced, and why there are none."""
