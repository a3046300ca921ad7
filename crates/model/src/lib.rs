// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Plain data shared by every crate: units, CPU sets, what to measure, what was measured.
//!
//! Nothing here touches the operating system, and nothing here computes a statistic: a record can
//! be read, checked against its schema and shown on any machine.
#![forbid(unsafe_code)]

mod assessment;
mod check;
mod choice;
mod comparison;
mod cpu;
mod diagnosis;
mod event;
mod experiment;
mod extrapolation;
mod figure;
mod figure_words;
mod fleet;
mod guest;
mod history;
mod host;
mod import;
mod instrument;
pub mod json;
mod kernel_install;
mod kernel_source;
mod latency_test;
mod load_report;
mod machines;
mod one_shot;
mod option_list;
mod ordered;
mod origin;
mod policy;
mod requirement;
mod run;
mod run_list;
mod size;
mod spec;
mod study;
pub mod tasks;
mod tune;
mod units;
pub mod watch;

pub use assessment::{
    ASSESSMENT_FORMAT, Assessment, Condition, DeadlineVerdict, MissRate, RealTimeClass,
};
pub use check::{Check, CheckStatus};
pub use choice::UnknownChoice;
pub use comparison::{
    COMPARISON_FORMAT, ComparedFigure, ComparedGroup, ComparedRun, Comparison, ComparisonAnswer,
    ComparisonMethod, ComparisonScale, ComparisonVerdict, Distribution, Effect, GroupFigure,
    GroupRequirement, IntervalLevel, PublishedMean, RefusedRun, Withheld, WithheldReason,
};
pub use cpu::{CPU_LIMIT, CpuId, CpuSet, ParseCpuSetError};
pub use diagnosis::{
    CpuChoice, DIAGNOSIS_FORMAT, Diagnosis, Evidence, Fixer, JudgedProcess, JudgedThread,
    PROCESS_DIAGNOSIS_FORMAT, ProcessDiagnosis, Rule, RuleOutcome, Severity, TuneAdvice, Verdict,
};
pub use event::{Event, LatencyStep, LoadProgress, Progress, SeriesProgress, WindowFigures};
pub use experiment::{
    AliasedEffect, EXPERIMENT_RESULTS_FORMAT, ExperimentCell, ExperimentFactor, ExperimentResults,
    FactorEffect, LevelChange, LookRule, MeasurementResults, ParetoCell, ParetoValue,
    SequentialComparison, SequentialState,
};
pub use extrapolation::{EXTRAPOLATION_FORMAT, Extrapolation, TailEstimate, TailLevel, TailMethod};
pub use figure::{Better, Certainty, Figure, Finding, Interval, LoadRecord, Setup};
pub use figure_words::{figure_heading, figure_words, label_words};
pub use fleet::{FLEET_FORMAT, FleetHost, FleetReport, FleetState};
pub use guest::{AgentKind, GUEST_BOOT_FORMAT, Guest, GuestAgent, GuestBoot, GuestTime};
pub use history::{
    HISTORY_FORMAT, History, HistoryChange, HistoryDirection, HistoryLine, HistoryMethod,
    HistoryRun, HistorySegment, HistorySeries, HistoryVerdict, TooFewForGate,
};
pub use host::{CpuCapacity, HostFacts};
pub use import::{IMPORT_LIST_FORMAT, ImportList, ImportListEntry};
pub use instrument::{Instrument, Makes, Picture, SampleWords};
pub use kernel_install::{
    INSTALLED_KERNELS_FORMAT, InstalledKernel, InstalledKernels, KERNEL_INSTALL_PLAN_FORMAT,
    KernelInstallPlan,
};
pub use kernel_source::{
    AppliedSeries, BisectReport, BisectStep, BisectVerdict, BuildEnd, BuildReport, BuiltKernel,
    ChangedOption, ConfigDiff, ConfigReport, ConflictingCommit, FailedHunk, KERNEL_BISECT_FORMAT,
    KERNEL_BUILD_FORMAT, KERNEL_CONFIG_DIFF_FORMAT, KERNEL_CONFIG_FORMAT, KERNEL_PATCH_FORMAT,
    KERNEL_REBASE_FORMAT, KERNEL_RT_FORMAT, KERNEL_STOCK_FORMAT, KernelImage, KernelModel,
    KernelSource, KernelStock, PatchOutcome, PatchReport, PatchResult, PatchedTree, RebaseConflict,
    RebaseReport, RebaseState, RtFlow, RtStep, RtStepKind, SourceOrigin, UnmetOption,
};
pub use latency_test::{
    Band, BandComparison, BandVerdict, LATENCY_TEST_FORMAT, LatencyCell, LatencyRun, LatencyTest,
};
pub use load_report::{LOAD_REPORT_FORMAT, LoadReport};
pub use machines::{
    ComparedMachine, MACHINES_FORMAT, Machines, MachinesDeviation, MachinesFigure, MachinesGroup,
    MachinesMethod, MachinesOutlier, MachinesOutlierFigure, MachinesValue,
};
pub use one_shot::{
    ONE_SHOT_PLAN_FORMAT, ONE_SHOT_STATUS_FORMAT, OneShotBoot, OneShotEvidence, OneShotFallback,
    OneShotInstalled, OneShotKernel, OneShotLoader, OneShotPlan, OneShotRefusal, OneShotState,
    OneShotStatus, OneShotWrite,
};
pub use option_list::split_options;
pub use ordered::{Gathered, Ordered};
pub use origin::{DateOrigin, Origin, SampleTimes};
pub use policy::{ParsePolicyError, Policy, PolicyFault};
pub use requirement::{RequirementBasis, RequirementResult, RequirementRuling};
pub use run::{
    Ended, GUEST_RUN_FORMAT, IMPORTED_RUN_FORMAT, INSTRUMENT_RUN_FORMAT, Misses, NEWEST_RUN_FORMAT,
    PrecisionState, RUN_FORMAT, RunRecord, Sample, Series, ThreadSample, ThresholdHit, TooShort,
};
pub use run_list::{RUN_LIST_FORMAT, RunList, RunListEntry, RunListFigures};
pub use size::{Bytes, ParseBytesError};
pub use spec::{Clock, Pin, RunSpec, TimerKind};
pub use study::{
    PublishedClaim, PublishedTable, STUDY_FACTS_FORMAT, STUDY_LIST_FORMAT, STUDY_REPORT_FORMAT,
    StudyAnswer, StudyBin, StudyCurve, StudyCurves, StudyDirection, StudyFacts, StudyFinding,
    StudyJoint, StudyKernel, StudyList, StudyPaperRow, StudyPart, StudyPicture, StudyPlace,
    StudyPoint, StudyReport, StudyResult, StudyRow, StudyShown, StudySkipped, StudySolver,
    StudyStep,
};
pub use tune::{
    ArgumentState, BOOT_PLAN_FORMAT, BootFile, BootLoader, BootPlan, Codec, CodecError, Hold,
    KNOB_LIST_FORMAT, KeptSession, KnobGuard, KnobList, KnobNote, KnobReading, LeftOut,
    PLAN_FORMAT, Plan, PlanStep, Refusal, Reversibility, SkipReason, Skipped, StepOutcome,
    StepReport, TRIAL_FORMAT, TUNING_FORMAT, Target, ThreadId, Treatment, TrialEffect, TrialFigure,
    TrialQuantity, TrialReport, TrialVerdict, TunedSetting, TuningAction, TuningInEffect,
    TuningReport, Undone, UnlistedKnob, WantedArgument, Writable, masks_agree,
};
pub use units::{Nanos, ParseNanosError};
