"""The preemptor: who makes room, and whether it was of use."""
