"""What commands print: consoles, tables that fit, and the forms of an answer."""
