//! How good a forecast was.

/// Mean absolute scaled error: the mean absolute error over the mean absolute change from one value
/// of the training series to the next (Hyndman & Koehler, *Another look at measures of forecast
/// accuracy*, Int. J. Forecasting 22, 2006). 0 is exact; 1 is as far off as one step of time.
///
/// Pairs in which either is unknown do not count. `None` where no pair is left. Where the training
/// series never changes, an exact forecast has 0 and any other +∞.
///
/// ```
/// # use cotenant_core::demand::mase;
/// // The training series changes by 1, 2 and 3: 2 on average. The errors are 1 and 5.
/// let training = [Some(1.0), Some(2.0), Some(4.0), Some(1.0)];
/// let score = mase(&training, &[Some(10.0), Some(20.0)], &[Some(11.0), Some(15.0)]);
/// assert_eq!(score, Some(1.5));
/// ```
pub fn mase(
    training: &[Option<f64>],
    actual: &[Option<f64>],
    forecast: &[Option<f64>],
) -> Option<f64> {
    let changes = training.windows(2).filter_map(|pair| Some((pair[1]? - pair[0]?).abs()));
    let scale = mean(changes).unwrap_or(0.0);
    let errors = actual.iter().zip(forecast).filter_map(|(y, f)| Some(((*y)? - (*f)?).abs()));
    let error = mean(errors)?;
    Some(match (error, scale) {
        (0.0, _) => 0.0,
        (_, 0.0) => f64::INFINITY,
        (error, scale) => error / scale,
    })
}

/// Pinball loss of a forecast of the q-quantile, in the unit of the values: q · (y − f) where the
/// value lies above the forecast, else (1 − q) · (f − y) (Koenker & Bassett, Econometrica 46, 1978).
///
/// ```
/// # use cotenant_core::demand::pinball_loss;
/// assert_eq!(pinball_loss(0.75, 10.0, 6.0), 3.0);
/// assert_eq!(pinball_loss(0.75, 6.0, 10.0), 1.0);
/// ```
pub fn pinball_loss(q: f64, actual: f64, forecast: f64) -> f64 {
    let above = actual - forecast;
    if above >= 0.0 { q * above } else { (q - 1.0) * above }
}

/// The mean of what there is; `None` where there is nothing.
pub(super) fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0_u64), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / count as f64)
}
