// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What an image says of its kernel before it runs.
//!
//! A bzImage has `HdrS` at 0x202, and at 0x20e the place of a text, counted from 0x200: the release,
//! who built it, and the version line (Documentation/arch/x86/boot.rst, `kernel_version`). `setup_sects` at 0x1f1 and
//! `syssize` at 0x1f4 say how long it is. Kernels for arm64 say it elsewhere ([`arm64`]).

mod arm64;

use std::io;
use std::path::Path;

use punctual_model::Bytes;

use super::architecture::Architecture;
use crate::file::{open_regular, read_whole};
use crate::guest::Model;
use crate::source::Tree;

/// More than the place of the text can say.
const HEAD: u64 = 0x200 + 0x1_0000 + 512;

/// How files begin that are taken for kernels by mistake, and what they are.
const OTHERS: &[(usize, &[u8], &str)] = &[
    (
        4,
        b"zimg",
        "a kernel that unpacks itself under EFI (vmlinuz.efi): take the Image that it was made of",
    ),
    (0x30, b"RISCV", "a kernel for RISC-V (Image)"),
    (
        0x24,
        &[0x18, 0x28, 0x6f, 0x01],
        "a kernel for 32-bit Arm (zImage)",
    ),
    (0, &[0x1f, 0x8b], "compressed with gzip"),
    (0, &[0xfd, b'7', b'z', b'X', b'Z'], "compressed with xz"),
    (0, &[0x28, 0xb5, 0x2f, 0xfd], "compressed with zstd"),
    (
        0,
        b"07070",
        "a cpio archive, such as an initial RAM file system",
    ),
    (0, b"!<arch>\ndebian", "a Debian package"),
    (0, b"\xed\xab\xee\xdb", "an RPM package"),
    (0, b"MZ", "an EFI program"),
];

/// What an image says of its kernel.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Image {
    /// The processors that it is for.
    pub architecture: Architecture,
    /// The release, such as `6.1.0-56-amd64`.
    pub release: Option<String>,
    /// The whole text.
    pub version: Option<String>,
    /// Bytes of arguments that it takes at most. Of an ELF file and of an old protocol it is not known.
    pub most_arguments: Option<usize>,
    /// The memory that it takes to start, counted from address 0, where it says.
    pub least_memory: Option<Bytes>,
}

impl Image {
    /// Reads the image at `path`. An ELF file says nothing of its version.
    ///
    /// # Errors
    ///
    /// Fails as `open(2)` and `read(2)` do, and on a file that is not a kernel for x86-64 or arm64, or is truncated: it
    /// says what it is.
    pub fn read(path: &Path) -> io::Result<Self> {
        use std::io::Read as _;
        let file = open_regular(path)?;
        let length = file.metadata()?.len();
        let mut head = Vec::new();
        file.take(HEAD).read_to_end(&mut head)?;
        let architecture = architecture(&head, length).map_err(io::Error::other)?;
        match architecture {
            Architecture::X86_64 => Ok(Self::of(&head)),
            Architecture::Arm64 => Ok(Self::of_arm64(&read_whole(path, arm64::MOST)?)),
        }
    }

    fn of_arm64(bytes: &[u8]) -> Self {
        let version = match arm64::is_packed(bytes) {
            true => arm64::version(&arm64::unpacked(bytes, arm64::MOST)),
            false => arm64::version(bytes),
        };
        Self {
            architecture: Architecture::Arm64,
            most_arguments: Some(arm64::MOST_ARGUMENTS),
            ..Self::saying(version)
        }
    }

    fn of(head: &[u8]) -> Self {
        let text = || {
            (head.get(0x202..0x206)? == b"HdrS").then_some(())?;
            let place = u16::from_le_bytes([*head.get(0x20e)?, *head.get(0x20f)?]);
            let text = head.get(0x200 + usize::from(place)..)?;
            let text = text.split(|byte| *byte == 0).next()?;
            let text = std::str::from_utf8(text).ok()?;
            (!text.is_empty() && !text.chars().any(char::is_control)).then(|| text.to_owned())
        };
        Self {
            most_arguments: most_arguments(head),
            least_memory: least_memory(head),
            ..Self::saying(text())
        }
    }

    /// An image for x86-64 that says this.
    fn saying(version: Option<String>) -> Self {
        Self {
            architecture: Architecture::X86_64,
            release: version
                .as_ref()
                .and_then(|text| Some(text.split_whitespace().next()?.to_owned())),
            version,
            most_arguments: None,
            least_memory: None,
        }
    }

    /// Returns the models that it can run; none where it does not say.
    pub fn models(&self) -> Vec<Model> {
        if self.says("PREEMPT_RT") {
            vec![Model::Rt]
        } else if self.is_dynamic() && self.is_since(Tree::ONLY_LAZY) {
            vec![Model::Full, Model::Lazy]
        } else if self.is_dynamic() {
            vec![Model::None, Model::Voluntary, Model::Full]
        } else if self.says("PREEMPT") && !self.is_since(Tree::LAZY) {
            vec![Model::Full]
        } else {
            Vec::new()
        }
    }

    /// Whether it takes its model at the boot.
    pub fn is_dynamic(&self) -> bool {
        self.says("PREEMPT_DYNAMIC")
    }

    /// Whether it can run a model that is asked for: also lazy, of which no image says anything, and which some
    /// processors have later than others.
    pub fn can_run(&self, model: Model) -> bool {
        let preempts = self.is_dynamic() || self.says("PREEMPT");
        let open =
            matches!(model, Model::Full | Model::Lazy) && preempts && self.is_since(Tree::LAZY);
        open || self.models().contains(&model)
    }

    fn says(&self, word: &str) -> bool {
        let version = self.version.as_deref().unwrap_or_default();
        version.split_whitespace().any(|found| found == word)
    }

    fn is_since(&self, version: (u32, u32)) -> bool {
        let number = self.release.as_deref().and_then(Tree::number);
        number.is_some_and(|number| number >= version)
    }
}

/// Says what a file is that begins so, as in "it is a text file".
pub(crate) fn kind(head: &[u8]) -> String {
    if head.is_empty() {
        return "empty".to_owned();
    }
    if is_bz_image(head) {
        return "a kernel image (bzImage)".to_owned();
    }
    if arm64::is_image(head) {
        return "a kernel for arm64 (Image)".to_owned();
    }
    if let Some(machine) = elf_machine(head) {
        return format!("an ELF file for {}", machine_name(machine));
    }
    let begins = |(at, magic, _): &&(usize, &[u8], &str)| {
        head.get(*at..).is_some_and(|rest| rest.starts_with(magic))
    };
    if let Some((.., what)) = OTHERS.iter().find(begins) {
        return (*what).to_owned();
    }
    let text = !head.contains(&0) && std::str::from_utf8(head.get(..64).unwrap_or(head)).is_ok();
    match text {
        true => "a text file".to_owned(),
        false => "of an unknown format".to_owned(),
    }
}

/// Returns what a bzImage says of the length of its arguments (`cmdline_size`, since protocol 2.06): without the byte that
/// ends them.
fn most_arguments(head: &[u8]) -> Option<usize> {
    let most = since_protocol(head, 0x206, (0x238, 4))?;
    usize::try_from(most).ok()
}

/// Returns where a bzImage is put (`pref_address`) with the room that it takes there (`init_size`, since protocol 2.10).
fn least_memory(head: &[u8]) -> Option<Bytes> {
    let of = |field| since_protocol(head, 0x20a, field);
    of((0x258, 8))?.checked_add(of((0x260, 4))?).map(Bytes::new)
}

/// Returns a field of a bzImage, by place and size, that there is since this version of the boot protocol and that says something.
fn since_protocol(head: &[u8], version: u64, (at, size): (usize, usize)) -> Option<u64> {
    let field = |at: usize, size: usize| {
        let bytes = head.get(at..at + size)?.iter().rev();
        Some(bytes.fold(0, |sum, byte| sum << 8 | u64::from(*byte)))
    };
    (is_bz_image(head) && field(0x206, 2)? >= version).then_some(())?;
    field(at, size).filter(|value| *value > 0)
}

fn is_bz_image(head: &[u8]) -> bool {
    head.get(0x202..0x206) == Some(b"HdrS")
}

/// Returns the machine of an ELF file (`e_machine`).
fn elf_machine(head: &[u8]) -> Option<u16> {
    elf_half(head, 18)
}

/// Returns the type of an ELF file (`e_type`).
fn elf_type(head: &[u8]) -> Option<u16> {
    elf_half(head, 16)
}

/// Returns a half word of an ELF file's head.
fn elf_half(head: &[u8], at: usize) -> Option<u16> {
    head.starts_with(b"\x7fELF").then_some(())?;
    // Little endian, or big.
    match (head.get(5)?, *head.get(at)?, *head.get(at + 1)?) {
        (2, a, b) => Some(u16::from_be_bytes([a, b])),
        (_, a, b) => Some(u16::from_le_bytes([a, b])),
    }
}

/// Names a machine (elf.h).
fn machine_name(machine: u16) -> String {
    match machine {
        3 => "x86".to_owned(),
        40 => "32-bit Arm".to_owned(),
        62 => "x86-64".to_owned(),
        183 => "arm64".to_owned(),
        243 => "RISC-V".to_owned(),
        other => format!("machine {other}"),
    }
}

/// Returns the processors that a kernel is for, or why it does not boot.
fn architecture(head: &[u8], length: u64) -> Result<Architecture, String> {
    if is_bz_image(head) {
        let byte = |at: usize| u64::from(head.get(at).copied().unwrap_or_default());
        let setup = match byte(0x1f1) {
            0 => 4,
            sectors => sectors,
        };
        let system = (0..4).fold(0, |sum, at| sum | byte(0x1f4 + at) << (8 * at));
        whole("bzImage", length, (setup + 1) * 512 + system * 16)?;
        return Ok(Architecture::X86_64);
    }
    if arm64::is_image(head) {
        whole(
            "Image",
            length,
            arm64::whole_length(head).unwrap_or_default(),
        )?;
        return Ok(Architecture::Arm64);
    }
    if arm64::is_packed(head) && arm64::is_image(&arm64::unpacked(head, 0x40)) {
        return Ok(Architecture::Arm64);
    }
    match elf_machine(head) {
        // Relocatable, shared or a core: what a linker, a loader or a debugger reads.
        Some(3 | 62) if matches!(elf_type(head), Some(1 | 3 | 4)) => {
            Err("it is an ELF program, library or object, not a kernel".to_owned())
        }
        Some(3 | 62) => Ok(Architecture::X86_64),
        _ if head.is_empty() => Err("it is empty".to_owned()),
        // As a bzImage begins too.
        _ if head.starts_with(b"MZ") && !arm64::is_zboot(head) && length < 0x206 => {
            Err(format!("it is truncated: {length} bytes"))
        }
        _ => {
            let booted = Architecture::ALL.map(|of| format!("{of} ({})", of.facts().images));
            Err(format!(
                "it is {}, not a kernel for {}",
                kind(head),
                booted.join(" or ")
            ))
        }
    }
}

fn whole(kind: &str, length: u64, whole: u64) -> Result<(), String> {
    match length < whole {
        true => Err(format!(
            "it is a truncated {kind}: {length} bytes of {whole}"
        )),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(text: &str) -> Vec<u8> {
        let mut head = vec![0; 0x400];
        head[0x1f1] = 1;
        head[0x202..0x206].copy_from_slice(b"HdrS");
        head[0x20e..0x210].copy_from_slice(&0x100_u16.to_le_bytes());
        head[0x300..0x300 + text.len()].copy_from_slice(text.as_bytes());
        head
    }

    #[test]
    fn release_and_models_are_read() {
        let of = |line: &str| Image::of(&image(&format!("6.1.0-56-amd64 (a@b) {line}")));
        let dynamic = of("#1 SMP PREEMPT_DYNAMIC Debian 6.1");
        assert_eq!(dynamic.release.as_deref(), Some("6.1.0-56-amd64"));
        assert_eq!(dynamic.models().len(), 3);
        assert_eq!(of("#1 SMP PREEMPT_RT Debian").models(), [Model::Rt]);
        assert_eq!(of("#1 SMP PREEMPT Debian").models(), [Model::Full]);
        assert!(of("#1 SMP Debian").models().is_empty());
    }

    #[test]
    fn an_image_can_run_lazy_where_its_version_has_it() {
        let of = |release: &str, line: &str| Image::of(&image(&format!("{release} (a@b) {line}")));
        let (full, lazy) = (Model::Full, Model::Lazy);
        for (release, line, models, can) in [
            ("6.12.9", "#1 SMP PREEMPT Mon", vec![full], [true, false]),
            ("6.13.0-rc1", "#1 SMP PREEMPT Mon", vec![], [true, true]),
            (
                "6.13.2",
                "#1 SMP PREEMPT_RT Mon",
                vec![Model::Rt],
                [false, false],
            ),
            ("6.13.2", "#1 SMP Mon", vec![], [false, false]),
        ] {
            let image = of(release, line);
            assert_eq!(image.models(), models, "{release} {line}");
            assert_eq!(
                [full, lazy].map(|model| image.can_run(model)),
                can,
                "{release} {line}"
            );
        }
        let dynamic = |release| of(release, "#1 SMP PREEMPT_DYNAMIC Mon");
        assert!(dynamic("6.13.2").can_run(lazy) && !dynamic("6.12.2").can_run(lazy));
        assert!(dynamic("6.19.3").can_run(Model::Voluntary));
        // Since 7.0 there are two.
        assert_eq!(dynamic("7.0.0-1-amd64").models(), [full, lazy]);
        assert!(!dynamic("7.0-rc1").can_run(Model::Voluntary));
    }

    #[test]
    fn a_kernel_says_how_many_arguments_it_takes() {
        let mut head = image("6.1 (a@b) #1 SMP");
        head[0x238..0x23c].copy_from_slice(&2_047_u32.to_le_bytes());
        // Before protocol 2.06 there was something else.
        assert_eq!(Image::of(&head).most_arguments, None);
        head[0x206..0x208].copy_from_slice(&0x206_u16.to_le_bytes());
        assert_eq!(Image::of(&head).most_arguments, Some(2_047));
    }

    #[test]
    fn a_kernel_says_how_much_memory_it_takes_to_start() {
        let mut head = image("6.1 (a@b) #1 SMP");
        head[0x258..0x260].copy_from_slice(&(16_u64 << 20).to_le_bytes());
        head[0x260..0x264].copy_from_slice(&(64_u32 << 20).to_le_bytes());
        head[0x206..0x208].copy_from_slice(&0x209_u16.to_le_bytes());
        assert_eq!(Image::of(&head).least_memory, None);
        head[0x206..0x208].copy_from_slice(&0x20a_u16.to_le_bytes());
        assert_eq!(Image::of(&head).least_memory, Some(Bytes::new(80 << 20)));
        head[0x258..0x260].copy_from_slice(&u64::MAX.to_le_bytes());
        assert_eq!(Image::of(&head).least_memory, None);
    }

    #[test]
    fn another_file_says_nothing() {
        for head in [Vec::new(), vec![0; 0x400], image("")] {
            assert_eq!(Image::of(&head), Image::default());
        }
        let mut far = image("x");
        far[0x20e..0x210].copy_from_slice(&u16::MAX.to_le_bytes());
        assert_eq!(Image::of(&far), Image::default());
        assert!(Image::read(Path::new("/no/such/image")).is_err());
    }

    #[test]
    fn a_file_that_does_not_boot_says_what_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("image");
        let read = |bytes: &[u8]| {
            std::fs::write(&path, bytes).unwrap();
            Image::read(&path).map_err(|err| err.to_string())
        };
        let whole = image("6.1 (a@b) #1 SMP");
        assert_eq!(read(&whole).unwrap().release.as_deref(), Some("6.1"));
        let mut long = whole.clone();
        long[0x1f4..0x1f8].copy_from_slice(&(100_000_u32 / 16).to_le_bytes());
        let err = read(&long).unwrap_err();
        assert_eq!(err, "it is a truncated bzImage: 1024 bytes of 101024");
        let arm = arm64::tests::image("6.1.0-56-arm64 (a@b) #1 SMP PREEMPT_RT Debian");
        let found = read(&arm).unwrap();
        assert_eq!(found.architecture, Architecture::Arm64);
        assert_eq!(found.release.as_deref(), Some("6.1.0-56-arm64"));
        assert_eq!(found.models(), [Model::Rt]);
        let cut = read(&arm[..0x300]).unwrap_err();
        assert_eq!(cut, "it is a truncated Image: 768 bytes of 1024");
        let mut elf = vec![0; 0x400];
        elf[..5].copy_from_slice(b"\x7fELF\x02");
        elf[5] = 1;
        elf[18] = 62;
        read(&elf).unwrap();
        let mut foreign = elf.clone();
        foreign[18] = 183;
        let mut program = elf.clone();
        program[16] = 3;
        for (bytes, part) in [
            (&b""[..], "it is empty"),
            (
                b"#!/bin/sh\necho no kernel\n",
                "it is a text file, not a kernel",
            ),
            (
                b"MZ\0\0zimg",
                "it is a kernel that unpacks itself under EFI",
            ),
            (&foreign, "it is an ELF file for arm64, not"),
            (&program, "it is an ELF program, library or object, not"),
            (b"MZ\0\0", "it is truncated: 4 bytes"),
            (b"\x1f\x8b\x08\0\0", "it is compressed with gzip, not"),
            (b"070701000", "it is a cpio archive"),
            (b"!<arch>\ndebian-binary", "it is a Debian package"),
            (&[0, 1, 2, 3], "of an unknown format"),
        ] {
            let err = read(bytes).unwrap_err();
            assert!(err.starts_with(part) || err.contains(part), "{part}: {err}");
        }
        for path in ["/dev/zero", "/"] {
            Image::read(Path::new(path)).unwrap_err();
        }
    }
}
