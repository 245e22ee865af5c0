"""What a job of each kind is: its pods, how it is stopped and started, and how it stands."""
