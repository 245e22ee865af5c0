"""What pod templates ask of topology, and what is refused of it"""
