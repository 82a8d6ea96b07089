"""Runs each layer in PyTorch, with random parameters, and writes vectors.safetensors beside this file.

    pip install torch safetensors numpy && python vectors.py

Of a case `c` there are `c/in.0` …, `c/out.0` …, the parameters by their names as `c/state.NAME`, and the gradients of
`(out * out).sum() / 2` over all outputs: `c/grad.NAME`, and `c/grad.in.0` of the first input. All arithmetic is float32.
"""

import math
from pathlib import Path

import torch
import torch.nn.functional as F
from safetensors.torch import save_file
from torch import nn

torch.manual_seed(0)
written = {}


def case(name, module, *inputs, run=None, state=None, grads=True):
    """One layer. `run` calls it, if it is not called by its inputs alone. `state` renames the parameters."""
    for parameter in module.parameters():
        nn.init.uniform_(parameter, -0.8, 0.8)
    for key, value in module.state_dict().items():
        written[f"{name}/state.{key}"] = value.clone()
    inputs = [x.clone() for x in inputs]
    first = inputs[0]
    if first.is_floating_point():
        first.requires_grad_(True)
    out = (run or module)(*inputs)
    out = list(out) if isinstance(out, (tuple, list)) else [out]
    for at, x in enumerate(inputs):
        written[f"{name}/in.{at}"] = x.detach()
    for at, x in enumerate(out):
        written[f"{name}/out.{at}"] = x.detach()
    if grads:
        sum((x * x).sum() / 2 for x in out).backward()
        if first.grad is not None:
            written[f"{name}/grad.in.0"] = first.grad
        for key, parameter in module.named_parameters():
            written[f"{name}/grad.{key}"] = parameter.grad
    # What a forward pass has changed.
    for key, value in module.named_buffers():
        if value is not None and not torch.equal(value, written[f"{name}/state.{key}"]):
            written[f"{name}/after.{key}"] = value.clone()


def numbers(*shape):
    return torch.randn(*shape)


case("linear", nn.Linear(4, 3), numbers(2, 4))
case("linear_no_bias", nn.Linear(4, 3, bias=False), numbers(2, 4))
case("linear_one_row", nn.Linear(4, 3), numbers(4))
case("linear_of_four", nn.Linear(4, 3), numbers(2, 1, 2, 4))
case("embedding", nn.Embedding(7, 3), torch.tensor([[1, 6, 0], [1, 2, 2]]))

case("layer_norm", nn.LayerNorm(5), numbers(3, 5))
case("layer_norm_of_two", nn.LayerNorm((3, 4), eps=1e-2), numbers(2, 3, 4))
case("layer_norm_no_bias", nn.LayerNorm(5, bias=False), 1 + numbers(2, 2, 5))
case("rms_norm", nn.RMSNorm(5, eps=1e-6), numbers(3, 5))
case("rms_norm_of_two", nn.RMSNorm((3, 4), eps=1e-2), numbers(2, 3, 4))
case("group_norm", nn.GroupNorm(2, 6), numbers(2, 6, 4))
case("group_norm_image", nn.GroupNorm(3, 6, eps=1e-2), numbers(2, 6, 2, 3))


def trained(bn):
    bn.running_mean.copy_(numbers(bn.num_features))
    bn.running_var.copy_(0.5 + torch.rand(bn.num_features))
    bn.num_batches_tracked.fill_(3)
    return bn


case("batch_norm_eval", trained(nn.BatchNorm1d(3)).eval(), numbers(4, 3))
case("batch_norm_train", trained(nn.BatchNorm1d(3)), numbers(4, 3))
case("batch_norm_sequence", trained(nn.BatchNorm1d(3, momentum=0.3)), numbers(2, 3, 4))
case("batch_norm_image", trained(nn.BatchNorm2d(3, eps=1e-2)), numbers(2, 3, 2, 2))
case("batch_norm_plain", trained(nn.BatchNorm2d(3, affine=False)).eval(), numbers(2, 3, 2, 2))

case("conv1d", nn.Conv1d(2, 3, 3), numbers(2, 2, 7))
case("conv1d_no_bias", nn.Conv1d(2, 3, 2, bias=False, stride=2), numbers(1, 2, 7))
case("conv1d_wide", nn.Conv1d(2, 3, 3, padding=2, dilation=2, stride=2), numbers(2, 2, 8))
case("conv1d_groups", nn.Conv1d(4, 6, 3, groups=2, padding=1), numbers(1, 4, 5))
case("conv2d", nn.Conv2d(2, 3, 3), numbers(1, 2, 5, 4))
case("conv2d_no_bias", nn.Conv2d(2, 3, 3, bias=False, stride=2, padding=1), numbers(2, 2, 5, 5))
case("conv2d_left_over", nn.Conv2d(1, 2, 3, stride=2, padding=1), numbers(1, 1, 5, 4))
case("conv2d_oblong", nn.Conv2d(2, 2, (3, 2), dilation=2), numbers(1, 2, 6, 5))
case("conv2d_groups", nn.Conv2d(4, 4, 3, groups=4, padding=1), numbers(1, 4, 4, 3))
case("conv_transpose1d", nn.ConvTranspose1d(3, 2, 3), numbers(2, 3, 4))
case("conv_transpose1d_wide", nn.ConvTranspose1d(3, 2, 3, stride=3, padding=1, output_padding=2, dilation=2, bias=False), numbers(1, 3, 4))
case("conv_transpose1d_groups", nn.ConvTranspose1d(4, 6, 2, stride=2, groups=2), numbers(1, 4, 3))
case("conv_transpose2d", nn.ConvTranspose2d(3, 2, 2), numbers(1, 3, 3, 2))
case("conv_transpose2d_wide", nn.ConvTranspose2d(2, 3, 3, stride=2, padding=1, output_padding=1, bias=False), numbers(2, 2, 3, 2))
case("conv_transpose2d_groups", nn.ConvTranspose2d(4, 2, (3, 2), groups=2, dilation=2), numbers(1, 4, 3, 3))

for name, options in {
    "lstm": {},
    "lstm_batch_first": {"batch_first": True},
    "lstm_no_bias": {"bias": False},
}.items():
    shape = (2, 4, 3) if options.get("batch_first") else (4, 2, 3)
    flat = lambda module: lambda x, *state: (lambda out, last: (out, *last))(*module(x, state or None))
    module = nn.LSTM(3, 2, **options)
    state = [numbers(1, 2, 2), numbers(1, 2, 2)] if name == "lstm_batch_first" else []
    case(name, module, numbers(*shape), *state, run=flat(module))
for name, options in {"gru": {}, "gru_batch_first": {"batch_first": True}, "gru_no_bias": {"bias": False}}.items():
    shape = (2, 4, 3) if options.get("batch_first") else (4, 2, 3)
    module = nn.GRU(3, 2, **options)
    state = [numbers(1, 2, 2)] if name == "gru_batch_first" else []
    case(name, module, numbers(*shape), *state, run=module)


class Mlp(nn.Module):
    def __init__(self, sizes, activation):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in zip(sizes, sizes[1:]))
        self.activation = activation

    def forward(self, x):
        for layer in self.layers[:-1]:
            x = self.activation(layer(x))
        return self.layers[-1](x)


class SwiGlu(nn.Module):
    def __init__(self, size, hidden):
        super().__init__()
        self.gate_proj = nn.Linear(size, hidden, bias=False)
        self.up_proj = nn.Linear(size, hidden, bias=False)
        self.down_proj = nn.Linear(hidden, size, bias=False)

    def forward(self, x):
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


def llama3(frequencies, factor, low_freq_factor, high_freq_factor, original_max_position_embeddings):
    """As transformers.modeling_rope_utils._compute_llama3_parameters."""
    wavelen = 2 * math.pi / frequencies
    low = original_max_position_embeddings / low_freq_factor
    high = original_max_position_embeddings / high_freq_factor
    scaled = torch.where(wavelen > low, frequencies / factor, frequencies)
    smooth = (original_max_position_embeddings / wavelen - low_freq_factor) / (high_freq_factor - low_freq_factor)
    smoothed = (1 - smooth) * scaled / factor + smooth * scaled
    return torch.where(~(wavelen < high) * ~(wavelen > low), smoothed, scaled)


class Attention(nn.Module):
    """Grouped attention with rotary positions, as in Llama, with PyTorch's scaled_dot_product_attention."""

    def __init__(self, size, heads, kv_heads, head_size, theta=None, bias=False, scaling=None):
        super().__init__()
        self.heads, self.kv_heads, self.theta, self.scaling = heads, kv_heads, theta, scaling
        self.q_proj = nn.Linear(size, heads * head_size, bias=bias)
        self.k_proj = nn.Linear(size, kv_heads * head_size, bias=bias)
        self.v_proj = nn.Linear(size, kv_heads * head_size, bias=bias)
        self.o_proj = nn.Linear(heads * head_size, size, bias=bias)

    def rotate(self, x):
        if self.theta is None:
            return x
        time, size = x.shape[-2:]
        frequencies = self.theta ** (-torch.arange(0, size, 2, dtype=torch.float64) / size)
        if self.scaling:
            frequencies = llama3(frequencies, **self.scaling)
        angles = torch.arange(time, dtype=torch.float64)[:, None] * frequencies
        cos, sin = (torch.cat([f(angles)] * 2, -1).to(x) for f in (torch.cos, torch.sin))
        a, b = x.chunk(2, -1)
        return x * cos + torch.cat([-b, a], -1) * sin

    def forward(self, x, causal=True, mask=None, context=None):
        split = lambda x, heads: x.unflatten(-1, (heads, -1)).transpose(-3, -2)
        context = x if context is None else context
        q, k = self.rotate(split(self.q_proj(x), self.heads)), self.rotate(split(self.k_proj(context), self.kv_heads))
        v = split(self.v_proj(context), self.kv_heads)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=causal, attn_mask=mask, enable_gqa=True)
        return self.o_proj(y.transpose(-3, -2).flatten(-2))


case("mlp", Mlp([3, 5, 4, 2], F.gelu), numbers(2, 3))
case("mlp_relu", Mlp([3, 4, 2], F.relu), numbers(2, 2, 3))
case("swiglu", SwiGlu(3, 5), numbers(2, 2, 3))
attention = Attention(8, 4, 2, 4, theta=10000.0)
case("attention_grouped", attention, numbers(2, 5, 8))
scaling = {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 16}
attention = Attention(8, 4, 2, 4, theta=10.0, scaling=scaling)
case("attention_scaled", attention, numbers(2, 5, 8))
attention = Attention(6, 3, 3, 2, bias=True)
case("attention_all", attention, numbers(1, 4, 6), run=lambda x: attention(x, causal=False))
crossed = Attention(4, 2, 1, 2, bias=True)
mask = torch.tensor([[[[0.0, 0.0, -math.inf]]], [[[0.0, -math.inf, 0.0]]]])
case("attention_crossed", crossed, numbers(2, 2, 4), numbers(2, 3, 4), mask,
     run=lambda x, context, mask: crossed(x, causal=False, mask=mask, context=context))


class Renamed(nn.Module):
    """PyTorch's own attention, whose four matrices are named as in Llama."""

    def __init__(self, size, heads):
        super().__init__()
        for name in ["q_proj", "k_proj", "v_proj", "o_proj"]:
            setattr(self, name, nn.Linear(size, size))
        self.heads = heads

    def forward(self, x):
        inputs = [self.q_proj, self.k_proj, self.v_proj]
        weight, bias = (torch.cat([getattr(p, name) for p in inputs]) for name in ["weight", "bias"])
        out, _ = F.multi_head_attention_forward(
            *[x.transpose(0, 1)] * 3, x.shape[-1], self.heads, weight, bias, None, None, False, 0.0,
            self.o_proj.weight, self.o_proj.bias, need_weights=False)
        return out.transpose(0, 1)


case("attention_torch", Renamed(4, 2), numbers(2, 3, 4))

path = Path(__file__).with_name("vectors.safetensors")
save_file({name: x.contiguous() for name, x in written.items()}, path)
print(len(written), "tensors,", path.stat().st_size, "bytes")
