"""A compiled call on a device."""
