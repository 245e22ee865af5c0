"""What can happen, and the words it is told in."""
