// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Comparisons of groups that are alike in what is compared and in nothing else: runs of another
//! length, groups that vary differently, misses that are rare, clean groups without an outlier.

use punctual_stats::RandomSource;
use punctual_stats::runs::{
    Direction, IntervalMethod, Options, Outcome, Question, Reach, Scale, Verdict, compare,
    length_fault, outliers,
};

use crate::simulate::{World, column, figures};

/// What is counted of one comparison.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Told {
    /// Permutations alone, as they were used before, call it an effect.
    pub(crate) permutations: bool,
    /// The verdict is "better" or "worse".
    pub(crate) effect: bool,
    /// The verdict is "not distinguishable".
    pub(crate) equal: bool,
    /// The verdict was that before, when a baseline of 0 was taken for grounds enough.
    pub(crate) equal_before: bool,
    /// The interval misses the truth.
    pub(crate) missed: bool,
}

fn options(interval: IntervalMethod) -> Options {
    Options {
        draws: 999,
        interval,
        ..Options::default()
    }
}

pub(crate) fn claims(outcome: &Outcome) -> bool {
    matches!(
        outcome.verdict,
        Verdict::Better | Verdict::Worse | Verdict::Different
    )
}

/// Compares values of groups that have no effect.
pub(crate) fn told(a: &[f64], b: &[f64]) -> Told {
    let question = Question::new(a, b, Direction::LowerIsBetter);
    let Ok(outcome) = compare(&question, &options(IntervalMethod::Permutation)) else {
        return Told::default();
    };
    let (effect, none) = match outcome.scale {
        Scale::Log => (outcome.ratio, 1.0),
        Scale::Linear => (outcome.difference, 0.0),
    };
    let ends = effect.and_then(|effect| effect.interval);
    Told {
        permutations: outcome.test.is_some_and(|test| test.permutations_p <= 0.05),
        effect: claims(&outcome),
        equal: outcome.verdict == Verdict::NotDistinguishable,
        equal_before: outcome.verdict == Verdict::NotDistinguishable
            || (outcome.baseline.estimate == Some(0.0) && !claims(&outcome)),
        missed: ends.is_some_and(|ends| none < ends.low || ends.high < none),
    }
}

/// The figures whose runs are compared across lengths: place in [`FIGURES`](crate::simulate::FIGURES).
pub(crate) const ACROSS: [(usize, Reach); 6] = [
    (0, Reach::Free),
    (1, Reach::Extreme),
    (2, Reach::Quantile(0.5)),
    (3, Reach::Quantile(0.99)),
    (4, Reach::Quantile(0.999)),
    (5, Reach::Extreme),
];

/// Runs of two lengths of one machine: whether the figures of [`ACROSS`] make an effect, without the
/// rule about lengths and with it.
pub(crate) fn lengths(
    world: &World,
    runs: usize,
    samples: [usize; 2],
    source: &mut RandomSource,
) -> [[bool; 2]; 6] {
    let group = |samples, source: &mut RandomSource| {
        let world = World {
            samples,
            ..world.clone()
        };
        figures(&world.group(source, runs, 1.0))
    };
    let (a, b) = (group(samples[0], source), group(samples[1], source));
    let [short, long] = [
        samples[0].min(samples[1]) as u64,
        samples[0].max(samples[1]) as u64,
    ];
    ACROSS.map(|(figure, reach)| {
        let effect = told(&column(&a, figure), &column(&b, figure)).effect;
        let judged = length_fault(reach, short, long).is_none();
        [effect, effect && judged]
    })
}

/// How the runs of a group vary.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shape {
    /// Normal logarithms with this deviation.
    Normal(f64),
    /// Logarithms with the long tail of a maximum (Gumbel), of this deviation.
    Maximum(f64),
    /// One of two levels, either as often, this far apart, and a little noise.
    Bimodal(f64),
}

impl Shape {
    /// Logarithms have the mean 0 whatever the shape.
    fn run(self, source: &mut RandomSource) -> f64 {
        let log = match self {
            Self::Normal(deviation) => deviation * source.normal(),
            Self::Maximum(deviation) => {
                let gumbel = -(-source.uniform().ln()).ln() - 0.577_215_664_9;
                deviation * gumbel * 6_f64.sqrt() / std::f64::consts::PI
            }
            Self::Bimodal(apart) => {
                let side = if source.uniform() < 0.5 { -0.5 } else { 0.5 };
                apart * side + 0.01 * source.normal()
            }
        };
        50.0 * log.exp()
    }

    fn group(self, runs: usize, source: &mut RandomSource) -> Vec<f64> {
        (0..runs).map(|_| self.run(source)).collect()
    }
}

/// Groups of one mean that vary differently.
pub(crate) type Uneven = (&'static str, (usize, Shape), (usize, Shape));

pub(crate) const UNEVEN: [Uneven; 11] = [
    (
        "3 at 4 times the deviation, 20",
        (3, Shape::Normal(0.2)),
        (20, Shape::Normal(0.05)),
    ),
    (
        "3 at 2 times the deviation, 20",
        (3, Shape::Normal(0.1)),
        (20, Shape::Normal(0.05)),
    ),
    (
        "5 at 4 times the deviation, 20",
        (5, Shape::Normal(0.2)),
        (20, Shape::Normal(0.05)),
    ),
    (
        "6 at 4 times the deviation, 20",
        (6, Shape::Normal(0.2)),
        (20, Shape::Normal(0.05)),
    ),
    (
        "8 at 4 times the deviation, 8",
        (8, Shape::Normal(0.2)),
        (8, Shape::Normal(0.05)),
    ),
    (
        "20 at 4 times the deviation, 6",
        (20, Shape::Normal(0.2)),
        (6, Shape::Normal(0.05)),
    ),
    (
        "3 like 20",
        (3, Shape::Normal(0.05)),
        (20, Shape::Normal(0.05)),
    ),
    (
        "6 at 4 times, 20, long tails",
        (6, Shape::Maximum(0.2)),
        (20, Shape::Maximum(0.05)),
    ),
    (
        "6 of two levels, 6",
        (6, Shape::Bimodal(0.4)),
        (6, Shape::Normal(0.02)),
    ),
    (
        "12 of two levels, 6",
        (12, Shape::Bimodal(0.4)),
        (6, Shape::Normal(0.02)),
    ),
    (
        "12 of two levels, 12",
        (12, Shape::Bimodal(0.4)),
        (12, Shape::Normal(0.02)),
    ),
];

pub(crate) fn spread((_, a, b): &Uneven, source: &mut RandomSource) -> Told {
    told(&a.1.group(a.0, source), &b.1.group(b.0, source))
}

/// Misses a second of runs of a minute that miss in bursts, some of which last long.
pub(crate) fn misses(runs: usize, bursts: f64, source: &mut RandomSource) -> Vec<f64> {
    (0..runs)
        .map(|_| {
            // A Poisson number of bursts: exponential gaps until the minute is over.
            let (mut at, mut all) = (-source.uniform().ln() / bursts, 0.0);
            while at < 1.0 {
                all += source.uniform().powf(-1.0).min(300.0).floor();
                at -= source.uniform().ln() / bursts;
            }
            all / 60.0
        })
        .collect()
}

/// Whether any of four figures of clean groups of a machine has a run that is called an outlier, with
/// a fixed cut-off of 3.5 robust deviations as before, and with the level shared by all looks.
pub(crate) fn outlying(world: &World, runs: usize, source: &mut RandomSource) -> [bool; 2] {
    let groups = [0, 1].map(|_| figures(&world.group(source, runs, 1.0)));
    let any = |is: &dyn Fn(&[f64]) -> bool| {
        let of_group = |group: &Vec<[f64; 8]>| (2..6).any(|figure| is(&column(group, figure)));
        groups.iter().any(of_group)
    };
    [
        any(&|values| robust(values)),
        any(&|values| !outliers(values, 0.2 / 8.0).is_empty()),
    ]
}

/// Whether a value lies more than 3.5 robust deviations from the median (Iglewicz and Hoaglin, 1993).
fn robust(values: &[f64]) -> bool {
    let median = |mut xs: Vec<f64>| {
        xs.sort_by(f64::total_cmp);
        let middle = xs.len() / 2;
        match xs.len() % 2 {
            1 => xs[middle],
            _ => f64::midpoint(xs[middle - 1], xs[middle]),
        }
    };
    let logs: Vec<f64> = values.iter().map(|x| x.ln()).collect();
    let center = median(logs.clone());
    let distances: Vec<f64> = logs.iter().map(|x| (x - center).abs()).collect();
    let deviation = median(distances.clone()) / 0.674_489_750_2;
    distances.iter().any(|distance| *distance > 3.5 * deviation)
}
