"""What is true now: state folded from events, and the pure questions one may ask of it."""
