"""Why things are as they are, in numbers: pending, preempted, different; and what would change it."""
