//! Layers, compared with PyTorch: `vectors.py` has written `vectors.safetensors`.

mod halves;
mod initialisers;
mod layers;
mod training;
mod vectors;
mod wrong;
