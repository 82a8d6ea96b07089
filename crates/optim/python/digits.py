"""Writes scikit-learn's digits (1,797 images of 8 × 8, in its package) as the npz that the example reads.

    pip install scikit-learn
    python digits.py ../examples/digits/digits.npz
"""

import sys

import numpy as np
from sklearn.datasets import load_digits

digits = load_digits()
images = digits.images.astype(np.uint8)
assert (images == digits.images).all() and images.max() == 16
np.savez_compressed(sys.argv[1], images=images, labels=digits.target.astype(np.uint8))
