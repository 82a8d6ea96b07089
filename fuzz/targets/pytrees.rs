//! Files of Python's libraries: whatever is read is a whole structure, and is read again when it is written.

use treedef_pytrees::{Lowering, jax, orbax, python, torch};

pub fn run(bytes: &[u8]) {
    let Some((format, bytes)) = bytes.split_first() else { return };
    let text = || str::from_utf8(bytes).unwrap_or_default();
    let read = match format % 6 {
        0 => jax::from_proto(bytes),
        1 => jax::from_flatbuffer(bytes),
        2 => torch::from_treespec(text()),
        3 => python::from_literal(text()),
        4 => jax::from_pytreedef_json(text()).map(|(raised, _)| raised),
        _ => orbax::metadata(text()).map(|metadata| metadata.raised),
    };
    let raised = match read {
        Ok(raised) => raised,
        Err(error) => {
            let message = error.to_string();
            assert!(!message.is_empty() && message.len() < 2048, "{message}");
            return;
        }
    };
    let leaves = raised.treedef.num_leaves();
    assert_eq!(raised.order.iter().flatten().count(), leaves);
    let lowered = match python::literal(&raised.treedef, &Lowering::new()) {
        Ok(lowered) => lowered,
        // Keys that Python keeps, and cannot put in order.
        Err(error) => {
            assert!(error.to_string().contains("have no order in Python"), "{error}");
            return;
        }
    };
    let again = python::from_literal(&lowered.data).unwrap();
    assert_eq!(again.order.len(), leaves);
    if let Ok(proto) = jax::proto(&raised.treedef, &Lowering::new()) {
        assert_eq!(jax::from_proto(&proto.data).unwrap().treedef, again.treedef);
        let flatbuffer = jax::flatbuffer(&raised.treedef, &Lowering::new()).unwrap();
        assert_eq!(jax::from_flatbuffer(&flatbuffer.data).unwrap().treedef, again.treedef);
    }
}
