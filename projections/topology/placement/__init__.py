"""All pods of a workload placed: flavor by flavor, with their cards, again after a node failed, and as it grows or shrinks."""
