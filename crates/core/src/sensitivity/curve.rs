//! A response that never falls with pressure.

/// The closest values, in squares, that never fall: pool adjacent violators (Ayer et al., *Annals of
/// Mathematical Statistics* 26, 1955), all weights being equal.
///
/// ```
/// use cotenant_core::sensitivity::isotonic;
/// assert_eq!(isotonic(&[1.0, 3.0, 2.0]), [1.0, 2.5, 2.5]);
/// ```
pub fn isotonic(values: &[f64]) -> Vec<f64> {
    let mut pools: Vec<(f64, usize)> = Vec::with_capacity(values.len());
    for value in values {
        let mut pool = (*value, 1);
        while let Some((mean, count)) = pools.last().copied().filter(|(mean, _)| *mean > pool.0) {
            let all = count + pool.1;
            pool = ((mean * count as f64 + pool.0 * pool.1 as f64) / all as f64, all);
            pools.pop();
        }
        pools.push(pool);
    }
    pools.into_iter().flat_map(|(mean, count)| std::iter::repeat_n(mean, count)).collect()
}

/// A response over pressure: 0 at no pressure, linear between points, flat behind the last.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Curve {
    /// Pressure and logarithm of the factor, both never falling; pressures are above 0.
    points: Vec<(f64, f64)>,
}

impl Curve {
    /// The curve through measured points (pressure, logarithm of the factor), in any order. What is
    /// not finite, or has no pressure, is no point.
    pub fn new(mut points: Vec<(f64, f64)>) -> Self {
        points.retain(|(pressure, response)| {
            pressure.is_finite() && *pressure > 0.0 && response.is_finite()
        });
        points.sort_by(|one, other| one.0.total_cmp(&other.0));
        let responses: Vec<f64> = points.iter().map(|(_, response)| *response).collect();
        let fitted = isotonic(&responses);
        let points =
            points.iter().zip(fitted).map(|((at, _), fitted)| (*at, fitted.max(0.0))).collect();
        Self { points }
    }

    /// The largest tested pressure; `None` where nothing was tested.
    pub fn pressure_max(&self) -> Option<f64> {
        self.points.last().map(|(pressure, _)| *pressure)
    }

    /// The logarithm of the factor at a pressure. Behind the last point it stays at its value.
    ///
    /// ```
    /// use cotenant_core::sensitivity::Curve;
    /// let curve = Curve::new(vec![(2.0, 0.4), (1.0, 0.1)]);
    /// assert_eq!(curve.at(0.5), 0.05);
    /// assert_eq!(curve.at(1.5), 0.25);
    /// assert_eq!(curve.at(9.0), 0.4);
    /// ```
    pub fn at(&self, pressure: f64) -> f64 {
        let pressure = pressure.max(0.0);
        let mut before = (0.0, 0.0);
        for point in &self.points {
            if pressure <= point.0 {
                let span = point.0 - before.0;
                let part = if span > 0.0 { (pressure - before.0) / span } else { 1.0 };
                return before.1 + part * (point.1 - before.1);
            }
            before = *point;
        }
        before.1
    }
}
