"""How time is taken, and the speed that memory allows."""
