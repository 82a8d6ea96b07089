//! Layers, against what PyTorch computes: `vectors.py` has written `vectors.safetensors`.

mod halves;
mod initialisers;
mod layers;
mod vectors;
mod wrong;
