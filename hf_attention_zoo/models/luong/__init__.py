"""Global and local attention with input feeding (Luong, Pham and Manning 2015)."""
