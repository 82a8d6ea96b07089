//! Weight decay: a pattern names the leaves that shrink.
//!
//! ```
//! use treedef::Tree;
//!
//! let text = "Net { body: [Layer { w: [*, *], b: * }; 2] }";
//! let mut net = Tree::new(text.parse()?, vec![1.0; 6])?;
//! net.select_mut("**.w[*]")?.for_each(|(_, w)| *w *= 0.9);
//! assert_eq!(net.leaves(), [0.9, 0.9, 1.0, 0.9, 0.9, 1.0]);
//!
//! // For an optimiser that expects a decay for each number of the flat vector:
//! let decay = net.mask("**.w")?.map(|is_w| if is_w { 0.1 } else { 0.0 });
//! assert_eq!(decay.leaves(), [0.1, 0.1, 0.0, 0.1, 0.1, 0.0]);
//! # Ok::<(), treedef::Error>(())
//! ```
