"""How an object is changed: patches, server-side apply, and who owns which field afterwards"""
