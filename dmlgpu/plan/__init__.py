"""How work is divided, as pure values: no GPU is needed to make or to test a plan."""
