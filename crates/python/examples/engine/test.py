"""The module in use: with numpy, under `jax.jit` with a gradient from Rust, and in PyTorch if it is there."""

import dataclasses
import pickle
import threading

import jax
import jax.numpy as jnp
import numpy as np

import engine

jax.config.update("jax_enable_x64", True)


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class Params:
    stiffness: float
    hardening: float


@dataclasses.dataclass(frozen=True)
class State:
    position: np.ndarray
    velocity: np.ndarray
    name: str = "chain"


@jax.custom_vjp
def energy(params, position):
    shape = jax.ShapeDtypeStruct((), position.dtype)
    return jax.pure_callback(engine.energy, shape, params, position)


def forward(params, position):
    return energy(params, position), (params, position)


def backward(arguments, cotangent):
    like = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype), arguments)
    gradient = jax.pure_callback(engine.energy_grad, like, *arguments)
    return jax.tree.map(lambda x: cotangent * x, gradient)


energy.defvjp(forward, backward)


def energy_in_jax(params, position):
    apart = position[1:] - position[:-1]
    fourth = jnp.sum(position**2, axis=1) ** 2
    return params.stiffness / 2 * jnp.sum(apart**2) + params.hardening / 4 * jnp.sum(fourth)


def close(a, b):
    np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-12)


position = np.random.default_rng(0).normal(size=(50, 3))
params = Params(jnp.asarray(4.0), jnp.asarray(0.5))


def test_numpy():
    state = State(position, np.zeros((50, 3)))
    end = engine.simulate({"stiffness": 4.0, "hardening": 0.5}, state, 10)
    assert type(end) is State and end.name == "chain" and end.position.shape == (50, 3)
    moved = engine.simulate(Params(4.0, 0.5), dataclasses.asdict(state), 10)
    assert type(moved) is dict and np.array_equal(moved["position"], end.position)
    end = engine.simulate(Params(4.0, 0.5), State(jnp.asarray(position), jnp.zeros((50, 3))), 10)
    assert isinstance(end.position, jax.Array) and np.array_equal(end.position, moved["position"])


def test_jax():
    rust = jax.jit(jax.value_and_grad(energy, argnums=(0, 1)))(params, position)
    both = jax.jit(jax.value_and_grad(energy_in_jax, argnums=(0, 1)))(params, position)
    assert jax.tree.structure(rust) == jax.tree.structure(both)
    jax.tree.map(close, rust, both)


def test_torch():
    try:
        import torch
    except ImportError:
        print("no torch: not tested")
        return

    class Energy(torch.autograd.Function):
        @staticmethod
        def forward(ctx, stiffness, hardening, position):
            ctx.save_for_backward(stiffness, hardening, position)
            params = {"stiffness": stiffness.detach(), "hardening": hardening.detach()}
            return torch.tensor(engine.energy(params, position.detach()), dtype=position.dtype)

        @staticmethod
        def backward(ctx, cotangent):
            stiffness, hardening, position = (x.detach() for x in ctx.saved_tensors)
            params = {"stiffness": stiffness, "hardening": hardening}
            by_params, by_position = engine.energy_grad(params, position)
            return (*(cotangent * g for g in by_params.values()), cotangent * by_position)

    arguments = [torch.tensor(x, dtype=torch.float64, requires_grad=True) for x in (4.0, 0.5, position)]
    Energy.apply(*arguments).backward()
    both = jax.grad(energy_in_jax, argnums=(0, 1))(params, position)
    for argument, expected in zip(arguments, (both[0].stiffness, both[0].hardening, both[1])):
        close(argument.grad.numpy(), expected)

    # A parameter is read without its gradient, and the result is a parameter, too. What is computed would lose it.
    parameter = torch.nn.Parameter(torch.tensor(position))
    by_position = engine.energy_grad({"stiffness": 4.0, "hardening": 0.5}, parameter)[1]
    assert type(by_position) is torch.nn.Parameter
    try:
        engine.energy({"stiffness": 4.0, "hardening": 0.5}, parameter * 2)
    except TypeError as error:
        assert ".detach()" in str(error), error
    else:
        raise AssertionError("a gradient was lost")


def test_flat():
    """A pytree of any structure, and its treedef as a key."""
    tree = {"w": np.full((2, 2), 2.0, "f4"), "params": Params(3.0, jnp.asarray(0.0)), "rest": None}
    clipped, treedef = engine.clip(tree, 2.5)
    assert clipped["w"].dtype == "f4" and np.array_equal(clipped["w"], np.full((2, 2), 1.0))
    assert clipped["params"] == Params(1.5, jnp.asarray(0.0)) and clipped["rest"] is None
    assert repr(treedef) == 'TreeDef({"params": Params { stiffness: *, hardening: * }, "rest": None, "w": *})'
    assert treedef.paths() == ["['params'].stiffness", "['params'].hardening", "['w']"]
    assert treedef.to_jax() == jax.tree.structure(tree)
    assert {treedef: "plan"}[pickle.loads(pickle.dumps(treedef))] == "plan"
    leaves, same = engine.TreeDef.flatten(tree)
    assert same == treedef == engine.TreeDef.from_jax(jax.tree.structure(tree))
    assert jax.tree.structure(same.unflatten(leaves)) == jax.tree.structure(tree)


def test_errors():
    def error(kind, call, *arguments):
        try:
            call(*arguments)
        except kind as error:
            return str(error)
        raise AssertionError("nothing was raised")

    ok = {"stiffness": 4.0, "hardening": 0.5}
    single = position.astype("float32")
    assert error(TypeError, engine.energy, ok, single) == (
        "position: expected f64[_, 3], found float32[50, 3] (`Reader::convert_numbers` converts)"
    )
    text = error(KeyError, engine.energy, {"stiffness": 4.0}, position)
    assert text == '"params: `hardening` is missing, found \'stiffness\'"', text
    text = error(TypeError, engine.clip, {"state": State(1.0, 2.0)}, 1.0)
    assert text.startswith("tree['state']: expected f64, found State, which is a leaf"), text
    wrong = State(position, np.zeros((49, 3)))
    assert "one velocity for each position" in error(RuntimeError, engine.simulate, ok, wrong, 1)


def test_threads():
    """The lock is released: another thread counts while Rust works."""
    counted, done = 0, threading.Event()

    def work():
        engine.simulate({"stiffness": 4.0, "hardening": 0.5}, State(position, position), 20_000)
        done.set()

    thread = threading.Thread(target=work)
    thread.start()
    while not done.is_set():
        counted += 1
    thread.join()
    assert counted > 100, counted


if __name__ == "__main__":
    for name, test in list(globals().items()):
        if name.startswith("test_"):
            test()
    print("the module of the example works")
