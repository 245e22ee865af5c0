"""What should happen next: one folder per service, each a pure decider with a thin shell."""
