use treedef_testing::hostile::differential::{
    agrees, agrees_in_order_of_insertion, neighbours_agree, numbers_agree, text, values_agree,
};
use treedef_testing::hostile::{Plain, with_tapes};
use treedef_testing::tape::Tape;

#[test]
fn the_encoding_agrees_with_a_plain_tree() {
    with_tapes(20_000, 60, agrees);
}

#[test]
fn treedefs_are_equal_where_plain_trees_are() {
    with_tapes(20_000, 60, neighbours_agree);
}

#[test]
fn numbers_are_found_as_in_a_recording() {
    with_tapes(2_000, 60, numbers_agree);
}

#[test]
fn it_agrees_where_maps_keep_their_order() {
    with_tapes(5_000, 60, agrees_in_order_of_insertion);
}

#[test]
fn values_print_order_and_compare_as_plain_trees_do() {
    with_tapes(5_000, 60, values_agree);
}

#[test]
fn the_tape_draws_what_matters() {
    let mut seen = std::collections::BTreeMap::new();
    let mut count =
        |what: &'static str, yes: bool| *seen.entry(what).or_insert(0) += usize::from(yes);
    let mut random = 1u64;
    for _ in 0..500 {
        let bytes = (0..60).map(|_| {
            random = random.wrapping_mul(6364136223846793005).wrapping_add(1);
            (random >> 56) as u8
        });
        let plain = Plain::draw(&mut Tape::of(bytes.collect::<Vec<_>>()), 5);
        let text = text(&plain, true);
        count("runs", text.contains("; "));
        count("runs in runs", text.matches("; ").count() > 2);
        count(
            "near runs",
            plain.children.len() > 2
                && !plain.sorted().children.windows(2).all(|w| w[0].same(&w[1])),
        );
        count("unsorted maps", plain.sorted() != plain);
        count("deep", plain.num_nodes() > 30);
    }
    assert!(seen.values().all(|&times| times >= 15), "{seen:?}");
}
