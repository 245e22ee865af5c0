"""Annotations of pods about cards: what they ask of the choice, which cards they got, and the pins that hold them to those."""
