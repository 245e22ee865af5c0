"""What a job of each kind is: its pods, how it is stopped and started, and its status."""
