"""Show, Attend and Tell: soft and hard visual attention (Xu et al. 2015)."""
