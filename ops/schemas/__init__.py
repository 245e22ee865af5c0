"""What the log holds, described for programs: JSON Schema of every event, AsyncAPI of every stream."""
