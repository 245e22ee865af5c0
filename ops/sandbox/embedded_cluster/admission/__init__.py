"""What an object goes through before it is stored: defaults, schema, and what is refused"""
