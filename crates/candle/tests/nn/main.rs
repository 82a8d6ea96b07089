//! Layers, against what PyTorch computes: `vectors.py` has written `vectors.safetensors`.

mod initialisers;
mod layers;
mod vectors;
mod wrong;
