"""The runs of optax in `tests/optax.jsonl`, which the tests of this crate repeat.

    pip install 'jax==0.10.*' 'optax==0.2.8'
    python optax_runs.py check ../tests/optax.jsonl
    python optax_runs.py add '[{"clip": 0.5}, {"lion": {"schedule": {"constant": 0.01}, "b1": 0.9, "b2": 0.99}}]' --seed 7

`check` makes all runs anew, and compares them with those in the file. `add` makes a run of an optimiser on random data,
and prints its line for the file; `losses` prints `tests/losses.json`. A new optimiser is a line in `OPTIMISERS`, and a case in `tests/it/vectors/mod.rs`.
"""

import argparse
import importlib
import inspect
import json
import re
import sys

import jax
import jax.numpy as jnp
import numpy as np
import optax
from optax._src.factorized import _decay_rate_pow

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
    "lamb": lambda rate, b1, b2, eps, weight_decay, decay: optax.lamb(rate, b1, b2, eps, weight_decay=weight_decay, mask=selected(decay)),
    "adafactor": lambda rate, decay=None, **settings: optax.adafactor(
        rate, dtype_momentum=jnp.float64, weight_decay_mask=decay and selected(decay), **settings
    ),
}

PROJECTIONS = {
    "non_negative": lambda: optax.projections.projection_non_negative,
    "box": lambda lower, upper: lambda tree: optax.projections.projection_box(
        tree, optax.tree.full_like(tree, lower), optax.tree.full_like(tree, upper)
    ),
    "simplex": lambda sum: lambda tree: optax.projections.projection_simplex(tree, sum),
    "l1_ball": lambda radius: lambda tree: optax.projections.projection_l1_ball(tree, radius),
    "l2_ball": lambda radius: lambda tree: optax.projections.projection_l2_ball(tree, radius),
}


def projected(only, **projection):
    """The updates that end at the projection of the parameters."""
    [(kind, value)] = projection.items()
    project = PROJECTIONS[kind](**value)
    end = lambda updates, params: optax.tree.sub(project(optax.tree.add(params, updates)), params)
    return optax.masked(optax.stateless(end), selected(only))


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
    if kind == "project":
        return projected(**value)
    # A setting that is a schedule is injected.
    frozen, last_layer = value.pop("frozen", None), value.pop("last_layer", None)
    rate, injected = schedule(value.pop("schedule")), {}
    for name in [name for name, setting in value.items() if isinstance(setting, dict)]:
        injected[name] = schedule(value.pop(name))
    make = optax.inject_hyperparams(OPTIMISERS[kind]) if injected else OPTIMISERS[kind]
    made = make(rate, **value, **injected)
    if frozen is not None:
        return grouped(optax.set_to_zero(), selected(frozen), made)
    if last_layer is not None:
        return grouped(optax.sgd(last_layer["sgd"]), selected(f"layers[{layers - 1}]"), made)
    return made


# What is around the chain of all others, the last one outside.
AROUND = {
    "accumulate": lambda every: lambda inner: optax.MultiSteps(inner, every),
    "apply_if_finite": lambda limit: lambda inner: optax.apply_if_finite(inner, limit),
    "lookahead": lambda value: lambda inner: optax.lookahead(inner, value["period"], value["step_size"], value["reset_state"]),
}


def optimiser(parts, layers):
    transforms, around = [], []
    for part in parts:
        [(kind, value)] = part.items()
        if kind in AROUND:
            around.append(AROUND[kind](value))
        else:
            transforms.append(transform(kind, value, layers))
    made = optax.chain(*transforms)
    for wrap in around:
        made = wrap(made)
    return made


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
    # With its type: where it is only assumed, JAX rounds a product with a number in `float32` to that.
    return {"layers": layers, "scale": jnp.array(params["scale"], jnp.float64)}


def lists(params):
    return jax.tree_util.tree_map(lambda array: array.tolist(), params)


def decays(parts, steps):
    """The decays of the means of adafactor, which optax computes in `float32`."""
    for settings in (part["adafactor"] for part in parts if "adafactor" in part):
        offset, power = settings.get("decay_offset", 0), settings.get("decay_rate", 0.8)
        return {"decays": [float(_decay_rate_pow(jnp.int32(count) - offset, power)) for count in range(steps)]}
    return {}


def results(run):
    """Runs optax, and gives what belongs into the line of a run."""
    params = arrays(run["params"])
    optax_optimiser = optimiser(run["optimiser"], len(params["layers"]))
    average = params
    is_slow = any("lookahead" in part for part in run["optimiser"])
    if is_slow:
        params = optax.LookaheadParams.init_synced(params)
    state = optax_optimiser.init(params)
    value_and_grad = jax.value_and_grad(loss_of(run))
    losses, first = [], None
    for step in range(run["steps"]):
        value, gradient = value_and_grad(params.fast if is_slow else params)
        losses.append(value.item())
        first = first if first is not None else gradient
        if step in run.get("broken", []):
            gradient = optax.tree.scale(jnp.nan, gradient)
        updates, state = optax_optimiser.update(gradient, state, params)
        params = optax.apply_updates(params, updates)
        if run.get("ema") is not None:
            average = optax.incremental_update(params, average, 1.0 - run["ema"])
    made = {"losses": losses, "first_grad": lists(first), "final": lists(params.fast if is_slow else params)}
    made |= decays(run["optimiser"], run["steps"])
    made |= {"slow": lists(params.slow)} if is_slow else {}
    return made | ({"average": lists(average)} if run.get("ema") is not None else {})


def random_run(parts, seed, steps, broken):
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
    } | ({"broken": broken} if broken else {})


def difference(kept, made):
    """The largest difference of two results, relative to the kept number, or to 0.001 where that is nearly zero."""
    kept, made = (np.concatenate([np.ravel(leaf) for leaf in jax.tree_util.tree_leaves(tree)]) for tree in (kept, made))
    return float(np.max(np.abs(kept - made) / np.maximum(np.abs(kept), 1e-3)))


LOSSES = {
    "huber": lambda x: optax.huber_loss(x, delta=1.0),
    "huber of 0.3": lambda x: optax.huber_loss(x, delta=0.3),
    "log_cosh": lambda x: optax.log_cosh(x),
    "sigmoid of 0": lambda x: optax.sigmoid_binary_cross_entropy(x, 0.0),
    "sigmoid of 0.25": lambda x: optax.sigmoid_binary_cross_entropy(x, 0.25),
    "sigmoid of 1": lambda x: optax.sigmoid_binary_cross_entropy(x, 1.0),
    "softmax": lambda x: optax.softmax_cross_entropy_with_integer_labels(jnp.stack([x, 0.5 * x, 1.0 - x]), 1),
    "softmax of shares": lambda x: optax.softmax_cross_entropy(jnp.stack([x, 0.5 * x, 1.0 - x]), jnp.array([0.2, 0.5, 0.3])),
}


def losses():
    """For each loss and number: the number, the loss and its first two derivatives."""
    rows = {}
    for name, loss in LOSSES.items():
        orders = [jnp.vectorize(order) for order in (loss, jax.grad(loss), jax.grad(jax.grad(loss)))]
        numbers = jnp.array([-40.0, -3.0, -0.9, -0.2, 1e-3, 0.25, 0.7, 1.5, 25.0])
        rows[name] = jnp.stack([numbers, *(order(numbers) for order in orders)], 1).tolist()
    return rows


MODULES = ["", "losses", "projections", "schedules", "transforms", "tree", "second_order", "assignment", "perturbations"]


def names(path):
    """Checks that a page has all functions of optax. An ellipsis in a name of the page stands for any part of one."""
    with open(path) as file:
        said = re.findall(r"[\w…]+", file.read())
    patterns = [re.compile(word.replace("…", r"\w*")) for word in said if "…" in word and len(word) > 1]
    missing = []
    for module in MODULES:
        for name, value in vars(importlib.import_module(f"optax.{module}".rstrip("."))).items():
            is_function = callable(value) and name[0].islower() and not inspect.isclass(value)
            if is_function and name not in said:
                missing += [] if any(pattern.fullmatch(name) for pattern in patterns) else [f"{module}.{name}"]
    if missing:
        sys.exit(f"{path} lacks {', '.join(missing)}")


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
    add.add_argument("--broken", type=int, nargs="*", default=[], help="the steps whose gradients are NaN")
    commands.add_parser("names", help="checks that a page has all functions of optax").add_argument("path")
    commands.add_parser("losses", help="prints `tests/losses.json`")
    chosen = parser.parse_args()
    if chosen.command == "check":
        check(chosen.path, chosen.first)
    elif chosen.command == "names":
        names(chosen.path)
    elif chosen.command == "losses":
        print(json.dumps(losses()))
    else:
        run = random_run(json.loads(chosen.optimiser), chosen.seed, chosen.steps, chosen.broken)
        print(json.dumps(run | results(run)))
