"""What a pod set asks of a topology, what that means on the levels of one tree, and which leaves it may not use."""
