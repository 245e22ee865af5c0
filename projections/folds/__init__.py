"""The folds of events that change several rooms at once: a workload, its line, its quota, its cards and its requests together."""
