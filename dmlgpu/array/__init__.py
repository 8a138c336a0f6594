"""What arrays are beyond DirectML, as pure values: type promotion, functions, chains of them."""
