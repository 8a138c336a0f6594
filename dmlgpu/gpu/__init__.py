"""The only package that speaks to wgpu."""
