//! Arrays, vectors and matrices.

use crate::laws::{holds, holds_flattened};

#[test]
fn ndarray() {
    use ndarray::{Array0, Array1, Array2, Array3, ArrayD, Axis, IxDyn, ShapeBuilder, arr1, arr2};

    holds_flattened(Array0::from_elem((), 1.5));
    holds_flattened(arr1(&[1.0, 2.0, 3.0]));
    holds_flattened(arr2(&[[1.0f32, 2.0], [3.0, 4.0]]));
    holds_flattened(Array1::<f64>::zeros(0));
    holds_flattened(Array2::<f64>::zeros((0, 3)));
    holds_flattened(Array3::from_shape_fn((2, 3, 4), |(i, j, k)| (i * 12 + j * 4 + k) as f64));
    holds_flattened(ArrayD::from_elem(IxDyn(&[2, 1, 2]), 7i32));
    holds_flattened(Array1::from(vec![Some("a".to_owned()), None]));
    holds_flattened(Array1::from(vec![arr1(&[1.0]), arr1(&[2.0, 3.0])]));

    // Elements travel in logical order, so another memory layout comes back as the standard one.
    let columns = Array2::from_shape_fn((2, 3).f(), |(i, j)| (i * 3 + j) as f64);
    holds_flattened(columns.clone());
    holds_flattened(columns.reversed_axes());
    let mut rows = arr2(&[[1.0, 2.0], [3.0, 4.0]]);
    rows.invert_axis(Axis(0));
    holds_flattened(rows);
}

#[test]
fn ndarray_checks_its_shape_and_version() {
    let (mut leaves, treedef) = treedef::flatten(&ndarray::arr2(&[[1.0, 2.0]])).unwrap();
    insta::assert_snapshot!(treedef, @"Array { v: *, dim: (*, *), data: [*, *] }");
    leaves[1] = 2u64.into();
    let error = treedef::unflatten::<ndarray::Array2<f64>>(&treedef, &leaves).unwrap_err();
    insta::assert_snapshot!(error, @"data and dimension must match in size at the root");
    leaves[0] = 2u8.into();
    let error = treedef::unflatten::<ndarray::Array2<f64>>(&treedef, &leaves).unwrap_err();
    insta::assert_snapshot!(error, @"unknown array version: 2 at the root");
}

#[test]
fn nalgebra_static() {
    use nalgebra::{
        Isometry3, Matrix2, Matrix3x2, Point2, Quaternion, Rotation2, Similarity2, Translation3,
        UnitQuaternion, Vector3,
    };

    holds(Vector3::new(1.0, 2.0, 3.0));
    holds(Matrix2::new(1.0f32, 2.0, 3.0, 4.0));
    holds(Matrix3x2::new(1, 2, 3, 4, 5, 6));
    holds(Point2::new(1.0, -0.0));
    holds(Translation3::new(1.0, 2.0, 3.0));
    holds(Quaternion::new(1.0, 2.0, 3.0, 4.0));
    holds(Rotation2::new(0.5));
    holds(UnitQuaternion::from_euler_angles(0.1, 0.2, 0.3));
    holds_flattened(Isometry3::rotation(Vector3::new(0.1, 0.2, 0.3)));
    holds_flattened(Similarity2::new(nalgebra::Vector2::new(1.0, 2.0), 0.5, 3.0));
}

#[test]
fn nalgebra_dynamic() {
    use nalgebra::{DMatrix, DVector, Matrix2xX, RowDVector};

    use crate::laws::ByDebug;

    let matrix = DMatrix::from_row_slice(2, 3, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    holds(matrix.clone());
    holds(DMatrix::<f32>::zeros(0, 2));
    holds(DVector::from_vec(vec![1.0, 2.0]));
    holds(RowDVector::from_vec(vec![1u8, 2]));
    holds(Matrix2xX::from_column_slice(&[1.0, 2.0, 3.0, 4.0]));

    holds_flattened(ByDebug(matrix.clone().svd(true, false)));
    holds_flattened(ByDebug((&matrix * matrix.transpose()).lu()));
    holds_flattened(ByDebug((&matrix * matrix.transpose()).cholesky()));
    holds_flattened(ByDebug((&matrix * matrix.transpose()).symmetric_eigen()));
}

#[test]
fn glam() {
    use glam::{
        Affine3A, BVec3, DMat4, DVec2, IVec3, Mat3, Mat4, Quat, U64Vec2, Vec2, Vec3, Vec3A,
    };

    holds(Vec2::new(1.0, 2.0));
    holds(Vec3::new(1.0, 2.0, f32::INFINITY));
    holds(Vec3A::new(1.0, 2.0, 3.0));
    holds(DVec2::new(1.0, -0.0));
    holds(IVec3::new(-1, 0, 1));
    holds(U64Vec2::new(0, u64::MAX));
    holds(BVec3::new(true, false, true));
    holds(Mat3::from_cols(Vec3::X, Vec3::Y, Vec3::Z));
    holds(Mat4::from_rotation_x(0.5));
    holds(DMat4::IDENTITY);
    holds(Quat::from_rotation_y(0.5));
    holds(Affine3A::from_translation(Vec3::ONE));
}

#[test]
fn euclid() {
    use euclid::{Angle, Box2D, Length, Point2D, Rect, Size2D, Transform2D, UnknownUnit, Vector3D};

    #[derive(Debug)]
    enum Pixels {}

    holds(Length::<f64, Pixels>::new(1.5));
    holds(Point2D::<f32, Pixels>::new(1.0, 2.0));
    holds(Vector3D::<i32, UnknownUnit>::new(1, 2, 3));
    holds_flattened(Rect::<f64, UnknownUnit>::new(Point2D::new(1.0, 2.0), Size2D::new(3.0, 4.0)));
    holds_flattened(Box2D::<f64, UnknownUnit>::new(Point2D::new(1.0, 2.0), Point2D::new(3.0, 4.0)));
    holds_flattened(Transform2D::<f64, UnknownUnit, UnknownUnit>::rotation(Angle::radians(0.5)));
}

#[test]
fn sprs() {
    use sprs::{CsMat, CsVec, TriMat};

    holds_flattened(CsVec::new(5, vec![0, 2, 4], vec![0.5, 2.5, 4.5]));
    holds_flattened(CsVec::<f64>::empty(3));
    let mut triplets = TriMat::new((3, 4));
    triplets.add_triplet(0, 1, 1.5);
    triplets.add_triplet(2, 0, 2.5);
    triplets.add_triplet(2, 3, 3.5);
    holds_flattened(triplets.to_csr::<usize>());
    holds_flattened(triplets.to_csc::<u32>());
    holds_flattened(CsMat::<f32>::eye(3));
}

#[test]
fn geo_types() {
    use geo_types::{
        Geometry, GeometryCollection, LineString, Point, Polygon, Rect, coord, polygon,
    };

    holds_flattened(coord! { x: 1.0, y: 2.0 });
    holds_flattened(Point::new(1.0f32, 2.0));
    holds(LineString::from(vec![(0.0, 1.0), (2.0, 3.0)]));
    let polygon: Polygon = polygon!(
        exterior: [(x: 0.0, y: 0.0), (x: 4.0, y: 0.0), (x: 4.0, y: 4.0)],
        interiors: [[(x: 1.0, y: 1.0), (x: 2.0, y: 1.0), (x: 2.0, y: 2.0)]],
    );
    holds_flattened(polygon.clone());
    holds_flattened(Rect::new((0.0, 1.0), (2.0, 3.0)));
    let all = vec![Geometry::Polygon(polygon), Geometry::Point(Point::new(5.0, 6.0))];
    holds(GeometryCollection::new_from(all.clone()));
    holds_flattened(all[1].clone());
}

/// What `Flattener::arrays` makes of the arrays of each crate: the table on the page about arrays.
#[test]
fn arrays_as_leaves() {
    use burn_tensor::TensorData;
    use half::{bf16, f16};
    use nalgebra::{DMatrix, DVector, SMatrix, Vector3};
    use ndarray::{ArrayD, IxDyn, arr0, arr1, arr2};
    use num_complex::Complex;
    use treedef::{ArrayRule, Flattener, Leaf};

    fn shapes<T: crate::laws::Subject>(flattener: &Flattener, value: T) -> String {
        let (leaves, treedef) = flattener.flatten(&value).unwrap();
        assert_eq!(treedef::unflatten::<T>(&treedef, &leaves).unwrap(), value);
        let text =
            |leaf: &Leaf| leaf.as_array().map_or(leaf.to_string(), |array| array.to_string());
        leaves.iter().map(text).collect::<Vec<_>>().join(", ")
    }

    let arrays = Flattener::new().arrays(true);
    let rows = [
        ("Vec<Vec<f32>>", shapes(&arrays, vec![vec![0.5f32; 4]; 3])),
        ("[[f64; 4]; 3]", shapes(&arrays, [[0.5; 4]; 3])),
        ("ndarray::Array2<f32>", shapes(&arrays, arr2(&[[1.0f32, 2.0, 3.0], [4.0, 5.0, 6.0]]))),
        ("ndarray::Array0<f64>", shapes(&arrays, arr0(0.5))),
        ("ndarray::ArrayD<u8>", shapes(&arrays, ArrayD::from_elem(IxDyn(&[2, 1, 3]), 7u8))),
        ("ndarray::Array1<f16>", shapes(&arrays, arr1(&[f16::ONE, f16::ZERO]))),
        ("Vec<half::f16>", shapes(&arrays, vec![f16::ONE; 3])),
        ("[half::bf16; 2]", shapes(&arrays, [bf16::ONE; 2])),
        ("nalgebra::Vector3<f64>", shapes(&arrays, Vector3::new(1.0, 2.0, 3.0))),
        ("nalgebra::SMatrix<f64, 2, 3>", shapes(&arrays, SMatrix::<f64, 2, 3>::zeros())),
        ("nalgebra::DMatrix<f64>", shapes(&arrays, DMatrix::<f64>::zeros(2, 3))),
        ("Vec<Complex<f32>>", shapes(&arrays, vec![Complex::new(1.0f32, 2.0); 3])),
        ("burn TensorData, f32", shapes(&arrays, TensorData::from([[1.0f32, 2.0], [3.0, 4.0]]))),
        ("burn TensorData, bf16", shapes(&arrays, TensorData::from([bf16::ONE; 3]))),
        ("burn TensorData, bool", shapes(&arrays, TensorData::from([true, false]))),
        ("burn TensorData, i64", shapes(&arrays, TensorData::new(vec![7i64; 6], [1, 2, 3]))),
    ];
    let table: Vec<String> = rows.iter().map(|(of, shape)| format!("{of}: {shape}")).collect();
    insta::assert_snapshot!(table.join("\n"), @"
    Vec<Vec<f32>>: f32[3, 4]
    [[f64; 4]; 3]: f64[3, 4]
    ndarray::Array2<f32>: f32[2, 3]
    ndarray::Array0<f64>: f64[]
    ndarray::ArrayD<u8>: u8[2, 1, 3]
    ndarray::Array1<f16>: f16[2]
    Vec<half::f16>: f16[3]
    [half::bf16; 2]: bf16[2]
    nalgebra::Vector3<f64>: f64[3]
    nalgebra::SMatrix<f64, 2, 3>: f64[6]
    nalgebra::DMatrix<f64>: f64[6], 2u64, 3u64
    Vec<Complex<f32>>: f32[3, 2]
    burn TensorData, f32: f32[2, 2]
    burn TensorData, bf16: bf16[3]
    burn TensorData, bool: bool[2]
    burn TensorData, i64: i64[1, 2, 3]
    ");

    let matrices = arrays.clone().array_rule(ArrayRule::Nalgebra("".parse().unwrap()));
    assert_eq!(shapes(&matrices, DMatrix::<f64>::zeros(2, 3)), "f64[2, 3]");
    assert_eq!(shapes(&matrices, DVector::<f64>::zeros(3)), "f64[3]");

    let complex = arrays.clone().array_rule(ArrayRule::Complex("**".parse().unwrap()));
    let number = Complex::new(-0.0, f32::from_bits(1));
    assert_eq!(shapes(&complex, vec![vec![number; 2]; 3]), "c64[3, 2]");
    assert_eq!(shapes(&complex, arr2(&[[Complex::new(0.5, -1.0)]])), "c128[1, 1]");
    let complex_matrices = complex.array_rule(ArrayRule::Nalgebra("".parse().unwrap()));
    assert_eq!(shapes(&complex_matrices, DMatrix::from_element(2, 3, number)), "c64[2, 3]");

    let fixed = arrays.array_rule(ArrayRule::Matrix("".parse().unwrap(), 2, 3));
    let columns = [1.0, 4.0, 2.0, 5.0, 3.0, 6.0];
    assert_eq!(shapes(&fixed, SMatrix::<f64, 2, 3>::from_column_slice(&columns)), "f64[2, 3]");
    let earlier = nalgebra_0_33::SMatrix::<f64, 2, 3>::from_column_slice(&columns);
    assert_eq!(shapes(&fixed, earlier), "f64[2, 3]");
    assert_eq!(shapes(&fixed, vec![earlier; 2]), "f64[2, 3], f64[2, 3]");
    let leaf = fixed.flatten(&earlier).unwrap().0.remove(0);
    assert_eq!(leaf.as_array().unwrap().as_slice::<f64>(), Some(&columns[..]));
    let square =
        Flattener::new().arrays(true).array_rule(ArrayRule::Matrix("".parse().unwrap(), 3, 3));
    assert_eq!(shapes(&square, glam::Mat3::IDENTITY), "f32[3, 3]");
}
