//! What two documents are compared by: one form for all formats, tensors that stay on disk, folded structures,
//! and what a conversion lost.

pub(crate) mod common_form;
pub(crate) mod losses;
pub(crate) mod tensor_file;
pub(crate) mod notation;
