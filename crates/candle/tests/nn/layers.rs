//! Each layer with its options: outputs to 1e-6, gradients to 1e-5, names and shapes.

use candle_core::{ModuleT, Tensor};
use candle_nn::Activation;
use treedef_candle::nn::{
    BatchNorm, Conv1d, Conv2d, ConvOptions, ConvTranspose1d, ConvTranspose2d, Embedding, GroupNorm,
    Gru, Initialiser, LayerNorm, Linear, Lstm, LstmState, Mlp, MultiHeadAttention, RmsNorm, Rope,
    RopeScaling, SwiGlu,
};

use crate::vectors::Case;

fn init() -> Initialiser {
    Initialiser::new(0)
}

const PLAIN: ConvOptions = ConvOptions { stride: 1, padding: 0, dilation: 1, groups: 1 };

#[test]
fn linear() {
    let linear = || Linear::new(4, 3, &mut init()).unwrap();
    for name in ["linear", "linear_one_row", "linear_of_four"] {
        Case::new(name).module(linear());
    }
    Case::new("linear_no_bias").module(linear().without_bias());
}

#[test]
fn embedding() {
    Case::new("embedding").module(Embedding::new(7, 3, &mut init()).unwrap());
}

#[test]
fn norms() {
    let of_five = || LayerNorm::new(5, 1e-5, &mut init()).unwrap();
    Case::new("layer_norm").module(of_five());
    Case::new("layer_norm_no_bias").module(of_five().without_bias());
    Case::new("layer_norm_of_two").module(LayerNorm::new((3, 4), 1e-2, &mut init()).unwrap());
    Case::new("rms_norm").module(RmsNorm::new(5, 1e-6, &mut init()).unwrap());
    Case::new("rms_norm_of_two").module(RmsNorm::new((3, 4), 1e-2, &mut init()).unwrap());
    Case::new("group_norm").module(GroupNorm::new(2, 6, 1e-5, &mut init()).unwrap());
    Case::new("group_norm_image").module(GroupNorm::new(3, 6, 1e-2, &mut init()).unwrap());
}

#[test]
fn batch_norm() {
    let norm = || BatchNorm::new(3, &mut init()).unwrap();
    let run = |name, norm: BatchNorm, train: bool| {
        Case::new(name).run(norm, |norm, x| Ok(vec![norm.forward_t(&x[0], train)?]));
    };
    run("batch_norm_eval", norm(), false);
    run("batch_norm_plain", BatchNorm { weight: None, bias: None, ..norm() }, false);
    run("batch_norm_train", norm(), true);
    run("batch_norm_sequence", norm(), true);
    run("batch_norm_image", BatchNorm { eps: 1e-2, ..norm() }, true);
}

#[test]
fn statistics_of_a_batch() {
    for (name, momentum) in [("batch_norm_train", 0.1), ("batch_norm_sequence", 0.3)] {
        let mut case = Case::new(name);
        let norm = BatchNorm { momentum, ..BatchNorm::new(3, &mut init()).unwrap() };
        let mut norm = case.layer(&norm);
        let x = case.input();
        let (_, statistics) = norm.forward_train(&x).unwrap();
        norm.set_statistics(statistics);
        case.close("after.running_mean", &norm.running_mean, 1e-6);
        case.close("after.running_var", &norm.running_var, 1e-6);
        case.close("after.num_batches_tracked", &norm.num_batches_tracked, 0.0);
    }
}

#[test]
fn convolutions() {
    let conv = |inputs, outputs, kernel, options| {
        Conv1d::new(inputs, outputs, kernel, options, &mut init()).unwrap()
    };
    Case::new("conv1d").module(conv(2, 3, 3, PLAIN));
    Case::new("conv1d_no_bias")
        .module(conv(2, 3, 2, ConvOptions { stride: 2, ..PLAIN }).without_bias());
    let wide = ConvOptions { padding: 2, dilation: 2, stride: 2, ..PLAIN };
    Case::new("conv1d_wide").module(conv(2, 3, 3, wide));
    let groups = ConvOptions { groups: 2, padding: 1, ..PLAIN };
    Case::new("conv1d_groups").module(conv(4, 6, 3, groups));

    let conv = |inputs, outputs, kernel, options| {
        Conv2d::new(inputs, outputs, kernel, options, &mut init()).unwrap()
    };
    Case::new("conv2d").module(conv(2, 3, [3, 3], PLAIN));
    let stride = ConvOptions { stride: 2, padding: 1, ..PLAIN };
    Case::new("conv2d_no_bias").module(conv(2, 3, [3, 3], stride).without_bias());
    Case::new("conv2d_left_over").module(conv(1, 2, [3, 3], stride));
    Case::new("conv2d_oblong").module(conv(2, 2, [3, 2], ConvOptions { dilation: 2, ..PLAIN }));
    let groups = ConvOptions { groups: 4, padding: 1, ..PLAIN };
    Case::new("conv2d_groups").module(conv(4, 4, [3, 3], groups));
}

#[test]
fn transposed_convolutions() {
    let conv = |inputs, outputs, kernel, options| {
        ConvTranspose1d::new(inputs, outputs, kernel, options, &mut init()).unwrap()
    };
    Case::new("conv_transpose1d").module(conv(3, 2, 3, PLAIN));
    let wide = ConvOptions { stride: 3, padding: 1, dilation: 2, ..PLAIN };
    let wide = ConvTranspose1d { output_padding: 2, ..conv(3, 2, 3, wide).without_bias() };
    Case::new("conv_transpose1d_wide").module(wide);
    let groups = ConvOptions { stride: 2, groups: 2, ..PLAIN };
    Case::new("conv_transpose1d_groups").module(conv(4, 6, 2, groups));

    let conv = |inputs, outputs, kernel, options| {
        ConvTranspose2d::new(inputs, outputs, kernel, options, &mut init()).unwrap()
    };
    Case::new("conv_transpose2d").module(conv(3, 2, [2, 2], PLAIN));
    let wide = ConvOptions { stride: 2, padding: 1, ..PLAIN };
    let wide = ConvTranspose2d { output_padding: 1, ..conv(2, 3, [3, 3], wide).without_bias() };
    Case::new("conv_transpose2d_wide").module(wide);
    let groups = ConvOptions { groups: 2, dilation: 2, ..PLAIN };
    Case::new("conv_transpose2d_groups").module(conv(4, 2, [3, 2], groups));
}

/// The state of PyTorch has a dimension for the layers.
fn of_one_layer(state: &Tensor) -> Tensor {
    state.squeeze(0).unwrap()
}

#[test]
fn recurrent() {
    let lstm = || Lstm::new(3, 2, &mut init()).unwrap();
    let run = |name, lstm| {
        Case::new(name).run(lstm, |lstm: &Lstm, x| {
            let state = x.get(1).zip(x.get(2));
            let state = state.map(|(h, c)| LstmState { h: of_one_layer(h), c: of_one_layer(c) });
            let (all, LstmState { h, c }) = lstm.run(&x[0], state.as_ref())?;
            Ok(vec![all, h.unsqueeze(0)?, c.unsqueeze(0)?])
        });
    };
    run("lstm", Lstm { batch_first: false, ..lstm() });
    run("lstm_batch_first", lstm());
    run("lstm_no_bias", Lstm { batch_first: false, ..lstm() }.without_bias());

    let gru = || Gru::new(3, 2, &mut init()).unwrap();
    let run = |name, gru| {
        Case::new(name).run(gru, |gru: &Gru, x| {
            let (all, h) = gru.run(&x[0], x.get(1).map(of_one_layer).as_ref())?;
            Ok(vec![all, h.unsqueeze(0)?])
        });
    };
    run("gru", Gru { batch_first: false, ..gru() });
    run("gru_batch_first", gru());
    run("gru_no_bias", Gru { batch_first: false, ..gru() }.without_bias());
}

#[test]
fn several_layers() {
    Case::new("mlp").module(Mlp::new(&[3, 5, 4, 2], Activation::Gelu, &mut init()).unwrap());
    Case::new("mlp_relu").module(Mlp::new(&[3, 4, 2], Activation::Relu, &mut init()).unwrap());
    Case::new("swiglu").module(SwiGlu::new(3, 5, &mut init()).unwrap());
}

#[test]
fn attention() {
    let new = |size, heads, kv_heads| {
        MultiHeadAttention::new(size, heads, kv_heads, &mut init()).unwrap()
    };
    let mut grouped = new(8, 4, 2).without_bias();
    // Heads of four numbers, twice as many as the size has for each.
    let linear =
        |inputs, outputs| Linear::new(inputs, outputs, &mut init()).unwrap().without_bias();
    (grouped.q_proj, grouped.o_proj) = (linear(8, 16), linear(16, 8));
    (grouped.k_proj, grouped.v_proj) = (linear(8, 8), linear(8, 8));
    (grouped.causal, grouped.rope) = (true, Some(Rope::new(10_000.0)));
    Case::new("attention_grouped").module(grouped.clone());
    let scaling = Some(RopeScaling {
        factor: 8.0,
        low_freq_factor: 1.0,
        high_freq_factor: 4.0,
        original_max_position_embeddings: 16,
    });
    grouped.rope = Some(Rope { theta: 10.0, scaling });
    Case::new("attention_scaled").module(grouped);
    Case::new("attention_all").module(new(6, 3, 3));
    Case::new("attention_torch").module(new(4, 2, 2));
    Case::new("attention_crossed")
        .run(new(4, 2, 1), |attention, x| Ok(vec![attention.attend(&x[0], &x[1], x.get(2))?]));
}
