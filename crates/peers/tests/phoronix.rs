// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Results of the Phoronix Test Suite: what the files say becomes figures, and what is none is refused.

use punctual_model::Better;
use punctual_peers::{Format, ImportError, Imported, Labels, NoSamples, detect, import};

const FILE: &str = r#"<?xml version="1.0"?>
<PhoronixTestSuite>
  <Generated><Title>sweep</Title></Generated>
  <System><Identifier>rt 950000</Identifier><Hardware>Processor: x</Hardware></System>
  <Result>
    <Identifier>pts/aio-stress-1.1.2</Identifier>
    <Title>AIO-Stress</Title>
    <AppVersion>0.21</AppVersion>
    <Description>Test: Random Write &amp; more</Description>
    <Scale>MB/s</Scale>
    <Proportion>HIB</Proportion>
    <DisplayFormat>BAR_GRAPH</DisplayFormat>
    <Data>
      <Entry>
        <Identifier>rt 950000</Identifier>
        <Value>93.71</Value>
        <RawString>89.48:97.94:93.71</RawString>
        <JSON>{"compiler-options":{"x":1}}</JSON>
      </Entry>
      <Entry>
        <Identifier>failed</Identifier>
        <Value></Value>
        <RawString></RawString>
      </Entry>
    </Data>
  </Result>
</PhoronixTestSuite>
"#;

fn read(text: &str) -> Result<Imported, ImportError> {
    import(text.as_bytes(), Format::Phoronix, None, &mut NoSamples)
}

#[test]
fn each_entry_is_a_figure_with_the_values_behind_it() {
    assert_eq!(detect(FILE.as_bytes()), Some(Format::Phoronix));
    let imported = read(FILE).unwrap();
    let record = imported.record(Labels::default()).unwrap();
    assert_eq!(record.instrument, "phoronix");
    let [figure] = record.figures.as_slice() else {
        panic!("{:#?}", record.figures)
    };
    assert_eq!(
        (figure.name.as_str(), figure.unit.as_str()),
        ("aio_stress", "MB/s")
    );
    assert_eq!((figure.value, figure.count), (Some(93.71), 3));
    assert_eq!(figure.better, Better::Higher);
    assert_eq!(figure.labels["test"], "Test: Random Write & more");
    assert_eq!(figure.labels["system"], "rt 950000");
    assert_eq!(figure.labels["version"], "1.1.2");
    assert!(!figure.labels.contains_key("scale"));
    // 4.23 of three values: 93.71 ± 4.3027 x 4.23 / sqrt(3), from the tables.
    let ends = figure.interval.unwrap();
    assert!((figure.stddev.unwrap() - 4.23).abs() < 1e-9);
    assert!(
        (ends.low - 83.202).abs() < 1e-2 && (ends.high - 104.218).abs() < 1e-2,
        "{ends:?}"
    );
}

#[test]
fn results_of_one_test_in_several_scales_are_figures_of_their_own() {
    let result = |scale: &str, value: &str| {
        format!(
            "<Result><Identifier>pts/openssl-3.3.0</Identifier><Description>Algorithm: RSA4096</Description>\
             <Scale>{scale}</Scale><Proportion>HIB</Proportion><DisplayFormat>BAR_GRAPH</DisplayFormat><Data><Entry>\
             <Identifier>a</Identifier><Value>{value}</Value><RawString>{value}</RawString></Entry></Data></Result>"
        )
    };
    let both = result("sign/s", "900") + &result("verify/s", "60000");
    let imported = read(&FILE.replacen("  <Result>", &format!("{both}  <Result>"), 1)).unwrap();
    let record = imported.record(Labels::default()).unwrap();
    let key = |at: usize| (&record.figures[at].name, &record.figures[at].labels);
    assert_ne!(key(0), key(1));
    assert_eq!(record.figures[0].labels["scale"], "sign/s");
    assert_eq!(record.figures[1].labels["scale"], "verify/s");
    assert_eq!(record.figures[1].value, Some(60000.0));
    // The other test has one.
    assert!(!record.figures[2].labels.contains_key("scale"));
}

#[test]
fn results_that_are_no_single_number_are_left_out_and_counted() {
    let result = |kind: &str, value: &str| {
        format!(
            "<Result><Identifier>pts/x-1.0.0</Identifier><DisplayFormat>{kind}</DisplayFormat><Data><Entry>\
             <Identifier>a</Identifier><Value>{value}</Value><RawString>{value}</RawString></Entry></Data></Result>"
        )
    };
    let with = |more: &str| FILE.replacen("  <Result>", &format!("{more}  <Result>"), 1);
    let lines = result("LINE_GRAPH", "60.0,55.0,58.0");
    let words = result("PASS_FAIL", "PASS");
    let alone = read(FILE).unwrap();
    for (more, said) in [
        (lines.clone(), "1 result that is not a single number"),
        (
            format!("{lines}{words}"),
            "2 results that are not a single number",
        ),
    ] {
        let imported = read(&with(&more)).unwrap();
        assert_eq!(imported.figures, alone.figures);
        let last = imported.stated.last().unwrap();
        assert!(last.starts_with(said), "{last}");
        assert_eq!(imported.stated.len(), alone.stated.len() + 1);
    }
    // Where only such results are left there is nothing to import, and a bar is a number.
    let err = read(&with(&lines).replacen("BAR_GRAPH", "LINE_GRAPH", 1));
    assert!(err.unwrap_err().to_string().contains("no result"));
    let err = read(&with(&result("BAR_GRAPH", "PASS"))).unwrap_err();
    assert!(err.to_string().contains("`PASS` is not a number"), "{err}");
}

#[test]
fn what_is_no_result_is_refused_with_its_place() {
    for (from, to, said) in [
        ("93.71</Value>", "fast</Value>", "`fast` is not a number"),
        ("89.48:", "89.48:nan:", "`nan` is not a number"),
        ("</PhoronixTestSuite>", "", "ends before"),
        ("<PhoronixTestSuite>", "<Other>", ""),
        ("<Value>93.71</Value>", "<Value></Value>", "no result"),
    ] {
        let err = read(&FILE.replacen(from, to, 1)).unwrap_err().to_string();
        assert!(err.contains(said), "{to}: {err}");
    }
    for end in (0..FILE.len() - 3).filter(|end| FILE.is_char_boundary(*end)) {
        assert!(read(&FILE[..end]).is_err(), "{end}");
    }
}

#[test]
fn several_entries_of_one_system_are_told_apart() {
    let first = FILE.find("      <Entry>").unwrap();
    let entry = |value: &str| {
        format!(
            "<Entry><Identifier>rt 950000</Identifier><Value>{value}</Value><RawString></RawString></Entry>"
        )
    };
    let with = |values: &[&str]| {
        let mut file = FILE.to_owned();
        let entries: String = values.iter().map(|value| entry(value)).collect();
        file.insert_str(first, &entries);
        read(&file).unwrap()
    };
    let numbers = |imported: &Imported| -> Vec<(Option<f64>, Option<String>)> {
        let figures = imported.figures.iter();
        let number = |of: &punctual_model::Figure| (of.value, of.labels.get("entry").cloned());
        figures.map(number).collect()
    };
    let third = Some("3".to_owned());
    assert_eq!(
        numbers(&with(&["128444", "128448"])),
        [
            (Some(128_444.0), None),
            (Some(128_448.0), Some("2".to_owned())),
            (Some(93.71), third.clone())
        ]
    );
    // One without a value leaves the numbers of the others as they are.
    assert_eq!(
        numbers(&with(&["128444", ""])),
        [(Some(128_444.0), None), (Some(93.71), third)]
    );
}

#[test]
fn entries_without_a_value_are_counted() {
    let said = |file: &str| read(file).unwrap().stated.join("\n");
    assert!(said(FILE).contains("1 entry without a value was left out"));
    let missing = FILE.replacen("<Value></Value>", "", 1);
    assert!(said(&missing).contains("1 entry without a value was left out"));
    let two = FILE.replacen(
        "<Entry>",
        "<Entry><Identifier>also failed</Identifier></Entry><Entry>",
        1,
    );
    assert!(said(&two).contains("2 entries without a value were left out"));
    let none = FILE.replacen("<Value></Value>", "<Value>1</Value>", 1);
    assert!(!said(&none).contains("left out"));
}

#[test]
fn a_value_outside_of_those_behind_it_is_refused() {
    let with = |value: &str, raw: &str| {
        let file = FILE.replacen("93.71</Value>", &format!("{value}</Value>"), 1);
        read(&file.replacen("89.48:97.94:93.71", raw, 1))
    };
    for (value, raw) in [("100", "1:2:3"), ("0.5", "1:2:3"), ("2.2", "2.02:2.04")] {
        let err = with(value, raw).unwrap_err().to_string();
        assert!(err.contains("outside of those"), "{value}: {err}");
    }
    // Rounded or cut, as the suite writes them.
    for (value, raw) in [
        ("5013", "5013.4"),
        ("5.12", "5.128"),
        ("0", "0.4:0.4"),
        ("2", "1:2:3"),
    ] {
        assert!(with(value, raw).is_ok(), "{value}: {raw}");
    }
}

const SYSTEM: &str =
    "<System><Identifier>rt 950000</Identifier><Hardware>Processor: x</Hardware></System>";

fn system(name: &str, kernel: &str) -> String {
    format!(
        "<System><Identifier>{name}</Identifier>\
         <Hardware>Processor: 2 x Xeon E5, v2 (12 Cores / 24 Threads), Motherboard: ASUS, Memory: 32GB</Hardware>\
         <Software>OS: CentOS Stream 9, Kernel: {kernel} (x86_64) 20250101, Display Server: X</Software>\
         <TimeStamp>2025-01-30 13:21:52</TimeStamp><TestClientVersion>10.8.4</TestClientVersion></System>"
    )
}

#[test]
fn the_system_is_the_machine_of_the_run() {
    assert!(FILE.contains(SYSTEM));
    let imported = read(&FILE.replacen(SYSTEM, &system("rt 950000", "6.12.1-rt5"), 1)).unwrap();
    let host = &imported.host;
    assert_eq!(host.kernel_release.as_deref(), Some("6.12.1-rt5"));
    assert_eq!(host.architecture.as_deref(), Some("x86_64"));
    assert_eq!(
        host.cpu_model.as_deref(),
        Some("2 x Xeon E5, v2 (12 Cores / 24 Threads)")
    );
    // Without a time zone it is a start only where the user says so.
    assert_eq!(imported.local_start.as_deref(), Some("2025-01-30 13:21:52"));
    assert_eq!(imported.started, None);
    assert_eq!(imported.version.as_deref(), Some("10.8.4"));
    assert!(imported.stated[0].starts_with("started 2025-01-30 13:21:52, in an unnamed"));
}

#[test]
fn of_several_systems_the_run_has_what_they_have_in_common() {
    let of = |others: &str| {
        let systems = system("rt 950000", "6.12.1-rt5") + others;
        let file = FILE.replacen(SYSTEM, &systems, 1);
        read(&file.replacen("<Value></Value>", "<Value>9</Value>", 1)).unwrap()
    };
    let two = of(&system("failed", "6.1.0"));
    assert_eq!(two.host.kernel_release, None);
    assert_eq!(two.host.architecture.as_deref(), Some("x86_64"));
    assert_eq!(two.local_start.as_deref(), Some("2025-01-30 13:21:52"));
    assert!(
        two.stated
            .iter()
            .any(|said| said.starts_with("failed: started 2025-01-30")
                && said.contains("kernel 6.1.0; 2 x Xeon"))
    );
    // One that has results and is not described may be any machine.
    assert_eq!(of("").host, punctual_model::HostFacts::default());
    // One that has none does not matter.
    let only = FILE.replacen(
        SYSTEM,
        &(system("rt 950000", "6.12.1-rt5") + &system("failed", "6.1.0")),
        1,
    );
    let only = read(&only).unwrap();
    assert_eq!(only.host.kernel_release.as_deref(), Some("6.12.1-rt5"));
}
