"""What every process of a service has: its clock, its event loop, its log lines and spans."""
