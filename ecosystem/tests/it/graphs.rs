//! petgraph: indices that have to fit.

use petgraph::graph::{DiGraph, UnGraph};
use petgraph::graphmap::DiGraphMap;
use petgraph::stable_graph::StableDiGraph;
use petgraph::visit::{EdgeRef, IntoEdgeReferences, IntoNodeReferences};
use serde::{Deserialize, Serialize};

use crate::laws::{ByDebug, holds_flattened};

/// A graph with `==`: equal nodes and edges under equal indices.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
#[serde(bound(
    serialize = "DiGraph<N, E>: Serialize",
    deserialize = "DiGraph<N, E>: Deserialize<'de>"
))]
pub(crate) struct Graph<N, E>(pub(crate) DiGraph<N, E>);

impl<N: PartialEq, E: PartialEq> PartialEq for Graph<N, E> {
    fn eq(&self, other: &Self) -> bool {
        let ends = |graph: &DiGraph<N, E>| -> Vec<_> {
            graph.edge_references().map(|edge| (edge.source(), edge.target())).collect()
        };
        self.0.node_weights().eq(other.0.node_weights())
            && self.0.edge_weights().eq(other.0.edge_weights())
            && ends(&self.0) == ends(&other.0)
    }
}

/// The same, with holes. The order in which vacant indices will be used again is not kept.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct StableGraph(StableDiGraph<f32, f64>);

impl PartialEq for StableGraph {
    fn eq(&self, other: &Self) -> bool {
        let edges = |graph: &StableDiGraph<f32, f64>| -> Vec<_> {
            let edges = graph.edge_references();
            edges.map(|edge| (edge.id(), edge.source(), edge.target(), *edge.weight())).collect()
        };
        self.0.node_references().eq(other.0.node_references()) && edges(&self.0) == edges(&other.0)
    }
}

pub(crate) fn graph() -> Graph<String, f64> {
    let mut graph = DiGraph::new();
    let [a, b, c] = ["a", "b", "c"].map(|name| graph.add_node(name.to_owned()));
    graph.add_edge(a, b, 1.5);
    graph.add_edge(c, a, 2.5);
    Graph(graph)
}

pub(crate) fn with_holes() -> StableGraph {
    let mut graph = StableDiGraph::new();
    let nodes: Vec<_> = (0..4u8).map(|i| graph.add_node(i.into())).collect();
    let edges: Vec<_> = (0..3u8)
        .zip(nodes.windows(2))
        .map(|(i, ends)| graph.add_edge(ends[0], ends[1], f64::from(i) + 0.5))
        .collect();
    graph.remove_edge(edges[1]);
    graph.remove_node(nodes[0]);
    StableGraph(graph)
}

pub(crate) fn graph_map() -> ByDebug<DiGraphMap<u16, f64>> {
    ByDebug(DiGraphMap::from_edges([(1, 7, 0.5), (7, 3, 1.5)]))
}

#[test]
fn graphs() {
    holds_flattened(graph());
    holds_flattened(ByDebug(UnGraph::<(), ()>::from_edges([(0, 1), (1, 2), (0, 2)])));
    holds_flattened(ByDebug(DiGraph::<f32, Vec<f64>, u8>::default()));
}

#[test]
fn stable_graphs() {
    holds_flattened(with_holes());
}

#[test]
fn graph_maps() {
    holds_flattened(graph_map());
}

#[test]
fn indices_that_do_not_fit_are_refused() {
    let (mut leaves, treedef) = treedef::flatten(&graph()).unwrap();
    insta::assert_snapshot!(treedef, @"Graph { nodes: [*, *, *], node_holes: [], edge_property: EdgeProperty::directed, edges: [Some((*, *, *)); 2] }");
    let target = treedef.node(".edges[0]?.1").unwrap().leaf_range().start;
    leaves[target] = 9u32.into();
    let error = treedef::unflatten::<DiGraph<String, f64>>(&treedef, leaves).unwrap_err();
    insta::assert_snapshot!(error, @"invalid value: node index `9` does not exist in graph with node bound 3 at the root");
}
