"""What GenerationMixin lacks."""
