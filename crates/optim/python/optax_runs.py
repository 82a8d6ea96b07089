"""The runs of optax in `tests/optax.jsonl`, which the tests of this crate repeat.

    pip install 'jax==0.10.*' 'optax==0.2.8'
    python optax_runs.py check ../tests/optax.jsonl
    python optax_runs.py add '[{"clip": 0.5}, {"lion": {"schedule": {"constant": 0.01}, "b1": 0.9, "b2": 0.99}}]' --seed 7

`check` makes all runs anew, and compares them with those in the file. `add` makes a run of an optimiser on random data,
and prints its line for the file. A new optimiser is a line in `OPTIMISERS`, and a case in `tests/it/vectors/mod.rs`.
"""

import argparse
import json
import re
import sys

import jax
import jax.numpy as jnp
import numpy as np
import optax

jax.config.update("jax_enable_x64", True)

SCHEDULES = {
    "constant": optax.constant_schedule,
    "linear": lambda init, end, steps: optax.linear_schedule(init, end, steps),
    "cosine_decay": lambda init, steps, alpha: optax.cosine_decay_schedule(init, steps, alpha),
    "exponential_decay": lambda init, steps, rate: optax.exponential_decay(init, steps, rate),
    "warmup_cosine": lambda init, peak, warmup, steps, end: optax.warmup_cosine_decay_schedule(init, peak, warmup, steps, end),
}

OPTIMISERS = {
    "sgd": lambda rate: optax.sgd(rate),
    "momentum": lambda rate, momentum: optax.sgd(rate, momentum),
    "nesterov": lambda rate, momentum: optax.sgd(rate, momentum, nesterov=True),
    "adam": lambda rate, b1, b2, eps: optax.adam(rate, b1, b2, eps),
    "adamw": lambda rate, b1, b2, eps, weight_decay, decay: optax.adamw(rate, b1, b2, eps, weight_decay=weight_decay, mask=selected(decay)),
    "adabelief": lambda rate, b1, b2, eps: optax.adabelief(rate, b1, b2, eps),
    "radam": lambda rate, b1, b2, threshold: optax.radam(rate, b1, b2, threshold=threshold),
    "adagrad": lambda rate, initial, eps: optax.adagrad(rate, initial, eps),
    "rmsprop": lambda rate, decay, eps: optax.rmsprop(rate, decay, eps),
    "lion": lambda rate, b1, b2: optax.lion(rate, b1, b2, weight_decay=0.0),
}


def selected(pattern):
    """A mask of the parameters that a pattern selects: `**.w`, or a path such as `layers[0]` and all below it."""
    if pattern.startswith("**."):
        regex = r"(.*\.)?" + re.escape(pattern[3:])
    else:
        regex = re.escape(pattern) + r"([.\[].*)?"

    def name(path):
        text = "".join(f".{key.key}" if isinstance(key, jax.tree_util.DictKey) else f"[{key.idx}]" for key in path)
        return text.lstrip(".")

    def mask(params):
        return jax.tree_util.tree_map_with_path(lambda path, _: bool(re.fullmatch(regex, name(path))), params)

    return mask


def schedule(description):
    [(kind, value)] = description.items()
    return SCHEDULES[kind](**value) if isinstance(value, dict) else SCHEDULES[kind](value)


def grouped(first, chosen, rest):
    """One transform for the parameters that a mask chooses, another for the rest."""
    labels = lambda params: jax.tree_util.tree_map(lambda is_first: "first" if is_first else "rest", chosen(params))
    return optax.multi_transform({"first": first, "rest": rest}, labels)


def transform(kind, value, layers):
    if not isinstance(value, dict):
        return {"clip": optax.clip, "clip_by_global_norm": optax.clip_by_global_norm}[kind](value)
    value = dict(value)
    frozen, last_layer = value.pop("frozen", None), value.pop("last_layer", None)
    made = OPTIMISERS[kind](schedule(value.pop("schedule")), **value)
    if frozen is not None:
        return grouped(optax.set_to_zero(), selected(frozen), made)
    if last_layer is not None:
        return grouped(optax.sgd(last_layer["sgd"]), selected(f"layers[{layers - 1}]"), made)
    return made


def optimiser(parts, layers):
    every = 1
    transforms = []
    for part in parts:
        [(kind, value)] = part.items()
        if kind == "accumulate":
            every = value
        else:
            transforms.append(transform(kind, value, layers))
    chain = optax.chain(*transforms)
    return chain if every == 1 else optax.MultiSteps(chain, every)


ACTIVATIONS = {"tanh": jnp.tanh, "relu": jax.nn.relu, "sigmoid": jax.nn.sigmoid}


def loss_of(run):
    activation, x, t = ACTIVATIONS[run["act"]], jnp.array(run["x"]), jnp.array(run["t"])

    def loss(params):
        h = x
        for at, layer in enumerate(params["layers"]):
            h = h @ layer["w"] + layer["b"]
            if at + 1 < len(params["layers"]):
                h = activation(h)
        h = h * params["scale"]
        if run["loss"] == "mse":
            return ((h - t) ** 2).mean()
        return optax.softmax_cross_entropy_with_integer_labels(h, t).mean()

    return loss


def arrays(params):
    layers = [{name: jnp.array(layer[name]) for name in ("b", "w")} for layer in params["layers"]]
    return {"layers": layers, "scale": jnp.array(params["scale"])}


def lists(params):
    return jax.tree_util.tree_map(lambda array: array.tolist(), params)


def results(run):
    """Runs optax, and gives what belongs into the line of a run."""
    params = arrays(run["params"])
    optax_optimiser = optimiser(run["optimiser"], len(params["layers"]))
    state, average = optax_optimiser.init(params), params
    value_and_grad = jax.value_and_grad(loss_of(run))
    losses, first = [], None
    for _ in range(run["steps"]):
        value, gradient = value_and_grad(params)
        losses.append(value.item())
        first = first if first is not None else gradient
        updates, state = optax_optimiser.update(gradient, state, params)
        params = optax.apply_updates(params, updates)
        if run.get("ema") is not None:
            average = optax.incremental_update(params, average, 1.0 - run["ema"])
    made = {"losses": losses, "first_grad": lists(first), "final": lists(params)}
    return made | ({"average": lists(average)} if run.get("ema") is not None else {})


def random_run(parts, seed, steps):
    """A perceptron of random sizes on random data."""
    random = np.random.default_rng(seed)
    sizes = random.integers(2, 6, random.integers(2, 5)).tolist()
    rows = int(random.integers(3, 9))
    layers = [
        {"b": (0.1 * random.normal(size=outputs)).tolist(), "w": (random.normal(size=(inputs, outputs)) / inputs**0.5).tolist()}
        for inputs, outputs in zip(sizes, sizes[1:])
    ]
    kind = ["mse", "ce"][random.integers(2)]
    labels = random.integers(sizes[-1], size=rows) if kind == "ce" else random.normal(size=(rows, sizes[-1]))
    return {
        "params": {"layers": layers, "scale": 1.0 + 0.1 * random.normal()},
        "act": sorted(ACTIVATIONS)[random.integers(3)],
        "loss": kind,
        "x": random.normal(size=(rows, sizes[0])).tolist(),
        "t": labels.tolist(),
        "optimiser": parts,
        "steps": steps or int(random.integers(5, 26)),
    }


def difference(kept, made):
    """The largest difference of two results, relative to the kept number, or to 0.001 where that is nearly zero."""
    kept, made = (np.concatenate([np.ravel(leaf) for leaf in jax.tree_util.tree_leaves(tree)]) for tree in (kept, made))
    return float(np.max(np.abs(kept - made) / np.maximum(np.abs(kept), 1e-3)))


def check(path, first):
    most = 0.0
    with open(path) as file:
        runs = [json.loads(line) for line in file][:first]
    for number, run in enumerate(runs, 1):
        for name, made in results(run).items():
            off = difference(run[name], made)
            most = max(most, off)
            if not off < 1e-10:
                sys.exit(f"line {number}, {name}: optax differs by {off:.1e}; the run is of {json.dumps(run['optimiser'])}")
    print(f"{len(runs)} runs of optax are as they were, to {most:.0e}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    checks = commands.add_parser("check")
    checks.add_argument("path")
    checks.add_argument("--first", type=int, help="only so many runs: all take minutes")
    add = commands.add_parser("add")
    add.add_argument("optimiser", help="a list of parts, as JSON")
    add.add_argument("--seed", type=int, default=0)
    add.add_argument("--steps", type=int, help="5 to 25 at random, if it is not given")
    chosen = parser.parse_args()
    if chosen.command == "check":
        check(chosen.path, chosen.first)
    else:
        run = random_run(json.loads(chosen.optimiser), chosen.seed, chosen.steps)
        print(json.dumps(run | results(run)))
