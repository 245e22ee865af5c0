"""What kuelog knows of each vendor of cards: resource names, annotation keys, chips, and which rules hold."""
