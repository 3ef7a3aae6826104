//! What the kernel's scheduler promises: the weight of each nice value.
//!
//! CFS and EEVDF give runnable tasks of one group CPU time in proportion to their weights. The table
//! is `sched_prio_to_weight` of Linux `kernel/sched/core.c` (each step is a factor of about 1.25);
//! `WEIGHT_IDLEPRIO` of `kernel/sched/sched.h` is 3.

use super::launch::Priority;

/// Weights of nice −20 to 19.
const WEIGHTS: [u32; 40] = [
    88_761, 71_755, 56_483, 46_273, 36_291, 29_154, 23_254, 18_705, 14_949, 11_916, 9_548, 7_620,
    6_100, 4_904, 3_906, 3_121, 2_501, 1_991, 1_586, 1_277, 1_024, 820, 655, 526, 423, 335, 272,
    215, 172, 137, 110, 87, 70, 56, 45, 36, 29, 23, 18, 15,
];

/// Weight of a `SCHED_IDLE` task.
const WEIGHT_IDLE: u32 = 3;

/// Weight of a task of this priority, where `inherited` is the nice value of whoever starts it.
pub(super) fn weight(priority: Priority, inherited: i32) -> u32 {
    if priority.idle {
        return WEIGHT_IDLE;
    }
    let nice = priority.nice.unwrap_or(inherited).clamp(-20, 19);
    WEIGHTS[(nice + 20) as usize]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_step_of_nice_is_a_quarter() {
        let weight_of = |nice| weight(Priority { nice: Some(nice), idle: false }, 0);
        assert_eq!((weight_of(0), weight_of(19), weight_of(-20)), (1024, 15, 88_761));
        for nice in -20..19 {
            let ratio = f64::from(weight_of(nice)) / f64::from(weight_of(nice + 1));
            assert!((1.17..1.32).contains(&ratio), "{nice}: {ratio}");
        }
    }

    #[test]
    fn idle_outranks_the_nice_value_and_none_is_inherited() {
        assert_eq!(weight(Priority { nice: Some(-20), idle: true }, 0), 3);
        assert_eq!(weight(Priority::default(), 5), 335);
    }
}
