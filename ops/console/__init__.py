"""The console: what stands on the log as pages in a browser, now and at any past moment. It reads, and changes nothing."""
