"""The example `digits` in JAX with Equinox and optax: the same data, models, rates and held-out images.

    pip install equinox optax
    python digits_jax.py ../examples/digits/digits.npz
"""

import sys
import time

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax


class Linear(eqx.Module):
    w: jax.Array
    b: jax.Array

    def __init__(self, key, inputs, outputs):
        limit = (6.0 / (inputs + outputs)) ** 0.5
        self.w = jax.random.uniform(key, (inputs, outputs), minval=-limit, maxval=limit)
        self.b = jnp.zeros(outputs)

    def __call__(self, x):
        return x @ self.w + self.b


class Conv(eqx.Module):
    w: jax.Array
    b: jax.Array

    def __init__(self, key, inputs, outputs):
        limit = (6.0 / (9 * (inputs + outputs))) ** 0.5
        self.w = jax.random.uniform(key, (outputs, inputs, 3, 3), minval=-limit, maxval=limit)
        self.b = jnp.zeros((1, outputs, 1, 1))

    def __call__(self, x):
        return jax.lax.conv(x, self.w, (1, 1), "SAME") + self.b


class Mlp(eqx.Module):
    layers: list[Linear]

    def __call__(self, images):
        x = images.reshape(len(images), -1)
        for at, layer in enumerate(self.layers):
            x = layer(x)
            if at + 1 < len(self.layers):
                x = jax.nn.relu(x)
        return x


class Cnn(eqx.Module):
    convs: list[Conv]
    head: Linear

    def __call__(self, images):
        x = images[:, None]
        for conv in self.convs:
            x = jax.nn.relu(conv(x))
            x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")
        return self.head(x.reshape(len(x), -1))


def loss(model, images, labels):
    scores = model(images)
    losses = optax.softmax_cross_entropy_with_integer_labels(scores, labels)
    return losses.mean(), (scores.argmax(-1) == labels).sum()


def digits(path):
    file = np.load(path)
    images, labels = file["images"].astype(np.float32) / 16.0, file["labels"].astype(np.int32)
    test = np.arange(len(labels)) % 5 == 0
    return (images[~test], labels[~test]), (images[test], labels[test])


def train(what, model, epochs, train_data, test_data, batch=32):
    begin = time.time()
    images, labels = train_data
    rows = len(labels)
    steps = epochs * (rows // batch)
    rate = optax.warmup_cosine_decay_schedule(0.0, 3e-3, steps // 10, steps, 0.0)
    is_weight = jax.tree_util.tree_map_with_path(lambda path, _: path[-1].name == "w", model)
    adamw = optax.adamw(rate, weight_decay=0.1, mask=is_weight)
    optimiser = optax.chain(optax.clip_by_global_norm(1.0), adamw)
    state = optimiser.init(model)
    average = model

    @eqx.filter_jit
    def step(model, average, state, images, labels):
        value_and_grad = eqx.filter_value_and_grad(loss, has_aux=True)
        (value, right), gradient = value_and_grad(model, images, labels)
        updates, state = optimiser.update(gradient, state, model)
        model = optax.apply_updates(model, updates)
        average = optax.incremental_update(model, average, 0.01)
        return model, average, state, value, right

    random = np.random.default_rng(1)
    for epoch in range(1, epochs + 1):
        order = random.permutation(rows)
        total, right = 0.0, 0
        for at in range(0, rows - batch + 1, batch):
            chosen = order[at : at + batch]
            model, average, state, value, found = step(model, average, state, images[chosen], labels[chosen])
            total, right = total + value, right + found
        if epoch % 10 == 0:
            batches = rows // batch
            print(f"{what} epoch {epoch:3}: loss {total / batches:.4f}, {100 * right / batches / batch:.1f} %")
    for which, trained in [("last", model), ("average", average)]:
        share = 100 * loss(trained, *test_data)[1] / len(test_data[1])
        print(f"{what} {which}: {share:.1f} % of the held-out images, {time.time() - begin:.1f}s")
        assert share >= 97


train_data, test_data = digits(sys.argv[1])
keys = jax.random.split(jax.random.key(0), 6)
mlp = Mlp([Linear(key, *shape) for key, shape in zip(keys, [(64, 128), (128, 64), (64, 10)])])
train("mlp", mlp, 40, train_data, test_data)
cnn = Cnn([Conv(keys[3], 1, 16), Conv(keys[4], 16, 32)], Linear(keys[5], 128, 10))
train("cnn", cnn, 20, train_data, test_data)
