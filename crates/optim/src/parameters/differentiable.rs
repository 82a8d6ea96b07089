//! The arithmetic of the transforms, for floats and for dual numbers.

/// A number that goes through the transforms, with its derivatives if it has some.
pub(super) trait Differentiable: Clone {
    fn of(value: f64) -> Self;
    /// The number without its derivatives.
    fn real(&self) -> f64;
    fn plus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
    fn exp(self) -> Self;
    fn ln_1p(self) -> Self;
    fn recip(self) -> Self;

    fn negated(self) -> Self {
        self.times(Self::of(-1.0))
    }

    /// This number with the derivatives that it has.
    fn moved_to(self, number: f64) -> Self {
        let by = Self::of(-self.real());
        self.plus(by).plus(Self::of(number))
    }

    /// ln(1 + eˣ), without overflow.
    fn softplus(self) -> Self {
        if self.real() > 0.0 {
            let rest = self.clone().negated().exp().ln_1p();
            self.plus(rest)
        } else {
            self.exp().ln_1p()
        }
    }

    /// 1 / (1 + e⁻ˣ), with all digits where it is small.
    fn logistic(self) -> Self {
        if self.real() < 0.0 {
            let e = self.exp();
            e.clone().times(Self::of(1.0).plus(e).recip())
        } else {
            Self::of(1.0).plus(self.negated().exp()).recip()
        }
    }
}

impl Differentiable for f64 {
    fn of(value: f64) -> Self {
        value
    }

    fn real(&self) -> f64 {
        *self
    }

    fn plus(self, other: Self) -> Self {
        self + other
    }

    fn times(self, other: Self) -> Self {
        self * other
    }

    fn exp(self) -> Self {
        self.exp()
    }

    fn ln_1p(self) -> Self {
        self.ln_1p()
    }

    fn recip(self) -> Self {
        1.0 / self
    }
}
