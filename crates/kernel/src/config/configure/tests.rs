// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Configurations of small trees.

use super::*;

#[test]
fn a_text_that_was_given_without_quotes_gets_them() {
    let dir = tempfile::tempdir().unwrap();
    let tree = "config TEXT\n\tstring \"t\"\nconfig ON\n\tbool \"o\"\nconfig N\n\tint \"n\"\n";
    fs::write(dir.path().join("Kconfig"), tree).unwrap();
    let kconfig = Kconfig::read(dir.path(), "x86").unwrap();
    for (given, becomes) in [
        ("TEXT=-x", r#""-x""#),
        (r#"TEXT="-x""#, r#""-x""#),
        (r#"TEXT=a "b" \"#, r#""a \"b\" \\""#),
        ("TEXT=n", "n"),
        ("ON=y", "y"),
        ("N=1", "1"),
    ] {
        let mut values = Values::parse(&format!("CONFIG_{given}")).unwrap();
        quote(&mut values, &kconfig);
        let (name, _) = given.split_once('=').unwrap();
        assert_eq!(values.value(name), becomes);
    }
}

#[test]
fn keys_that_the_source_does_not_have_are_left_out_and_named() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("debian")).unwrap();
    fs::write(dir.path().join("debian/there.pem"), "x").unwrap();
    let text = "CONFIG_SYSTEM_TRUSTED_KEYS=\"debian/no.pem\"\nCONFIG_SYSTEM_REVOCATION_KEYS=\"debian/there.pem\"\n\
                    CONFIG_MODULE_SIG_KEY=\"certs/signing_key.pem\"\n";
    let mut base = Values::parse(text).unwrap();
    let remark = without_keys(&mut base, dir.path()).unwrap();
    assert!(
        remark.ends_with("SYSTEM_TRUSTED_KEYS=\"debian/no.pem\""),
        "{remark}"
    );
    assert_eq!(base.len(), 2);
    assert_eq!(without_keys(&mut base, dir.path()), None);
}

#[test]
fn a_file_that_is_no_configuration_says_what_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("file");
    let read = |bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        let err = read_file(&path).unwrap_err();
        std::error::Error::source(&err).unwrap().to_string()
    };
    let mut image = vec![0; 0x400];
    image[0x202..0x206].copy_from_slice(b"HdrS");
    assert_eq!(
        read(&image),
        "it is a kernel image (bzImage), not a configuration"
    );
    let text = read(b"CONFIG_A=y\n\x1b]0;title\x07 \x9b31m\xff\n");
    assert!(text.contains("not a configuration"), "{text}");
    let text = read(b"CONFIG_A=y\n\x1b]0;title\x07\n");
    assert!(
        text.starts_with("line 2") && !text.contains(char::is_control),
        "{text:?}"
    );
}

#[test]
fn a_configuration_is_read_compressed_or_not() {
    use std::io::Write as _;
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir_all(dir.path().join("proc/sys/kernel")).unwrap();
    fs::write(dir.path().join("proc/sys/kernel/osrelease"), "6.1\n").unwrap();
    let sys = SysRoot::at(dir.path());
    let err = running(&sys).unwrap_err().to_string();
    assert!(err.ends_with("nor /boot/config-6.1"), "{err}");
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gz.write_all(b"CONFIG_HZ=250\n").unwrap();
    fs::write(dir.path().join("proc/config.gz"), gz.finish().unwrap()).unwrap();
    assert_eq!(running(&sys).unwrap().value("HZ"), "250");
}
