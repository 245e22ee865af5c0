"""The preemptor: evictions that preemption requests need, and claims on the room that they make."""
