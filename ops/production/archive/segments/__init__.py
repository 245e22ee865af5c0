"""Messages of a stream as Parquet files, written, and read within bounds"""
