//! Nonlinear least squares, for functions that have no derivative at hand.
//!
//! Levenberg's and Marquardt's method (Marquardt, "An Algorithm for Least-Squares Estimation of
//! Nonlinear Parameters", SIAM J. Appl. Math. 11, 1963) with differences in the place of
//! derivatives. Bounded by steps, never by time.

/// How to look for the minimum.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Search {
    /// Steps at most, each of which asks for the residuals once for each parameter and a little.
    pub steps_max: u32,
    /// By how much a parameter is moved to see what it does: large enough that what jumps in the
    /// residuals does not drown it.
    pub difference: f64,
    /// The search ends where a step makes the sum of squares smaller by less than this share.
    pub tolerance: f64,
}

impl Default for Search {
    fn default() -> Self {
        Self { steps_max: 40, difference: 1e-6, tolerance: 1e-9 }
    }
}

/// Where the sum of squared residuals is smallest, as far as the search came.
#[derive(Clone, Debug, PartialEq)]
pub struct Minimum {
    /// The parameters.
    pub at: Vec<f64>,
    /// The residuals there.
    pub residuals: Vec<f64>,
    /// Standard errors of the parameters, from the curvature and the spread of the residuals;
    /// `None` with as many parameters as residuals, and where the curvature tells nothing.
    pub standard_errors: Option<Vec<f64>>,
}

impl Minimum {
    /// The sum of squared residuals.
    pub fn sum_of_squares(&self) -> f64 {
        squares(&self.residuals)
    }
}

/// Looks for the parameters at which the residuals' squares sum up to least, from `start` on.
/// Where the residuals at `start` are no numbers, that is where it ends.
pub fn least_squares(
    start: &[f64],
    search: Search,
    mut residuals: impl FnMut(&[f64]) -> Vec<f64>,
) -> Minimum {
    let mut at = start.to_vec();
    let mut here = residuals(&at);
    let mut damping = 1e-3;
    let mut slopes = None;
    for _ in 0..search.steps_max {
        let jacobian = jacobian(&at, &here, search.difference, &mut residuals);
        let (normal, gradient) = normal_equations(&jacobian, &here);
        slopes = Some(normal.clone());
        let Some((next, there)) =
            step(&at, &here, &normal, &gradient, &mut damping, &mut residuals)
        else {
            break;
        };
        let gained = 1.0 - squares(&there) / squares(&here).max(f64::MIN_POSITIVE);
        (at, here) = (next, there);
        if gained < search.tolerance {
            break;
        }
    }
    let free = here.len().saturating_sub(at.len());
    let variance = squares(&here) / free as f64;
    let standard_errors = slopes.filter(|_| free > 0).and_then(|normal| {
        let inverse = inverse_diagonal(&normal)?;
        Some(inverse.into_iter().map(|of| (of * variance).sqrt()).collect())
    });
    Minimum { at, residuals: here, standard_errors }
}

/// One step downhill, the damping being raised until there is one; `None` where there is none.
fn step(
    at: &[f64],
    here: &[f64],
    normal: &[Vec<f64>],
    gradient: &[f64],
    damping: &mut f64,
    residuals: &mut impl FnMut(&[f64]) -> Vec<f64>,
) -> Option<(Vec<f64>, Vec<f64>)> {
    while *damping < 1e12 {
        let mut damped = normal.to_vec();
        for (index, row) in damped.iter_mut().enumerate() {
            row[index] += *damping * row[index].max(1e-12);
        }
        if let Some(change) = solve_positive(&damped, gradient) {
            let next: Vec<f64> = at.iter().zip(&change).map(|(at, by)| at - by).collect();
            let there = residuals(&next);
            if squares(&there) < squares(here) {
                *damping = (*damping / 5.0).max(1e-12);
                return Some((next, there));
            }
        }
        *damping *= 4.0;
    }
    None
}

/// The slope of each residual along each parameter, by forward differences.
fn jacobian(
    at: &[f64],
    here: &[f64],
    difference: f64,
    residuals: &mut impl FnMut(&[f64]) -> Vec<f64>,
) -> Vec<Vec<f64>> {
    let mut moved = at.to_vec();
    let along = |index: usize| {
        let by = difference * at[index].abs().max(1.0);
        moved[index] = at[index] + by;
        let there = residuals(&moved);
        moved[index] = at[index];
        there.iter().zip(here).map(|(there, here)| (there - here) / by).collect()
    };
    (0..at.len()).map(along).collect()
}

/// JᵀJ and Jᵀr.
fn normal_equations(jacobian: &[Vec<f64>], residuals: &[f64]) -> (Vec<Vec<f64>>, Vec<f64>) {
    let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let row = |of: &Vec<f64>| jacobian.iter().map(|other| product(of, other)).collect();
    let normal = jacobian.iter().map(row).collect();
    let gradient = jacobian.iter().map(|of| product(of, residuals)).collect();
    (normal, gradient)
}

/// Cholesky's lower triangle of a symmetric matrix; `None` where it is not positive definite.
fn cholesky(matrix: &[Vec<f64>]) -> Option<Vec<Vec<f64>>> {
    let size = matrix.len();
    let mut lower = vec![vec![0.0; size]; size];
    for row in 0..size {
        for column in 0..=row {
            let known: f64 = (0..column).map(|k| lower[row][k] * lower[column][k]).sum();
            let left = matrix[row][column] - known;
            if row == column {
                if left.is_nan() || left <= 0.0 {
                    return None;
                }
                lower[row][row] = left.sqrt();
            } else {
                lower[row][column] = left / lower[column][column];
            }
        }
    }
    Some(lower)
}

/// Solves a positive definite system.
fn solve_positive(matrix: &[Vec<f64>], right: &[f64]) -> Option<Vec<f64>> {
    let lower = cholesky(matrix)?;
    let size = right.len();
    let mut forward = vec![0.0; size];
    for row in 0..size {
        let known: f64 = (0..row).map(|k| lower[row][k] * forward[k]).sum();
        forward[row] = (right[row] - known) / lower[row][row];
    }
    let mut solution = vec![0.0; size];
    for row in (0..size).rev() {
        let known: f64 = (row + 1..size).map(|k| lower[k][row] * solution[k]).sum();
        solution[row] = (forward[row] - known) / lower[row][row];
    }
    Some(solution)
}

/// The diagonal of a positive definite matrix's inverse.
fn inverse_diagonal(matrix: &[Vec<f64>]) -> Option<Vec<f64>> {
    (0..matrix.len())
        .map(|index| {
            let mut unit = vec![0.0; matrix.len()];
            unit[index] = 1.0;
            Some(solve_positive(matrix, &unit)?[index])
        })
        .collect()
}

fn squares(residuals: &[f64]) -> f64 {
    let sum: f64 = residuals.iter().map(|residual| residual * residual).sum();
    if sum.is_nan() { f64::INFINITY } else { sum }
}
