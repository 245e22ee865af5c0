"""The domains of a topology as a tree of labelled nodes, how much is free on each leaf, and assignments to leaves as they are stored."""
