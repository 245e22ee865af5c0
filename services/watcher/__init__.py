"""The watcher: Kubernetes objects become facts."""
