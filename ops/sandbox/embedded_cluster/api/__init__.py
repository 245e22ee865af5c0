"""The API of the embedded cluster as clients meet it: over HTTP or in the same process"""
