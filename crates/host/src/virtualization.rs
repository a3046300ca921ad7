// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Whether the machine is virtual, and who says so.

pub(crate) const CPUINFO: &str = "/proc/cpuinfo";
pub(crate) const VENDOR: &str = "/sys/class/dmi/id/sys_vendor";
const TYPE: &str = "/sys/hypervisor/type";
const PRODUCT: &str = "/sys/class/dmi/id/product_name";
const CLOCKS: &str = "/sys/devices/system/clocksource/clocksource0/available_clocksource";
/// Of machines that have a device tree; entries of a list end with a NUL.
const TREE_HYPERVISOR: &str = "/sys/firmware/devicetree/base/hypervisor/compatible";
const TREE_KIND: &str = "/sys/firmware/devicetree/base/compatible";
const TREE_MODEL: &str = "/sys/firmware/devicetree/base/model";

/// What the firmware of virtual machines calls itself: its vendor, how its product begins, a name. Some vendors make hardware too.
const FIRMWARE: [(&str, &str, &str); 13] = [
    ("QEMU", "", "qemu"),
    ("KubeVirt", "", "kvm"),
    ("OpenStack", "", "kvm"),
    ("Red Hat", "KVM", "kvm"),
    ("Amazon EC2", "", "amazon"),
    ("Google", "Google Compute Engine", "google"),
    ("VMware", "", "vmware"),
    ("innotek", "", "virtualbox"),
    ("Oracle", "VirtualBox", "virtualbox"),
    ("Microsoft Corporation", "Virtual Machine", "hyper-v"),
    ("Parallels", "", "parallels"),
    ("Apple Inc.", "Apple Virtualization", "apple"),
    ("Xen", "", "xen"),
];

/// What a machine says.
#[derive(Debug, Eq, PartialEq)]
pub(crate) enum Virtual {
    /// It is virtual: the hypervisor's name, `yes` where it has none, and the file that says so.
    Yes {
        name: String,
        path: &'static str,
        value: String,
    },
    No,
    /// Nothing names a hypervisor, and nothing rules one out.
    Unknown,
}

/// Looks for a hypervisor. `read` returns nothing where there is no such file.
pub(crate) fn look<E>(
    read: impl Fn(&'static str) -> Result<Option<String>, E>,
) -> Result<Virtual, E> {
    let yes = |name: &str, path, value: &str| {
        Ok(Virtual::Yes {
            name: name.to_owned(),
            path,
            value: value.replace('\0', " ").trim().to_owned(),
        })
    };
    if let Some(kind) = read(TYPE)? {
        return yes(kind.trim(), TYPE, &kind);
    }
    let cpuinfo = read(CPUINFO)?.unwrap_or_default();
    let flags = cpuinfo.lines().find(|line| line.starts_with("flags"));
    if flags.is_some_and(|line| line.split_whitespace().any(|flag| flag == "hypervisor")) {
        let text = |path| read(path).ok().flatten().unwrap_or_default();
        let vendor = text(VENDOR);
        let by_vendor = FIRMWARE
            .iter()
            .find(|(maker, ..)| vendor.starts_with(maker));
        let kvm = text(CLOCKS).split_whitespace().any(|s| s == "kvm-clock");
        let name = by_vendor.map_or(if kvm { "kvm" } else { "yes" }, |(.., name)| name);
        return yes(name, CPUINFO, "flags: ... hypervisor ...");
    }
    let vendor = read(VENDOR)?.unwrap_or_default();
    // On x86 the flag tells, unless QEMU hides it. Elsewhere no processor has one.
    if flags.is_some() {
        return match vendor.starts_with("QEMU") {
            true => yes("qemu", VENDOR, &vendor),
            false => Ok(Virtual::No),
        };
    }
    if let Some(kind) = read(TREE_HYPERVISOR)? {
        let (name, _) = kind.split_once(',').unwrap_or(("yes", ""));
        return yes(name, TREE_HYPERVISOR, &kind);
    }
    let kind = read(TREE_KIND)?.unwrap_or_default();
    if kind
        .split('\0')
        .any(|kind| kind == "linux,dummy-virt" || kind.starts_with("qemu,"))
    {
        return yes("yes", TREE_KIND, &kind);
    }
    // A partition of IBM's, of which there is at least one.
    let platform = cpuinfo.lines().find(|line| line.starts_with("platform"));
    if let Some(line) = platform.filter(|line| line.contains("pSeries")) {
        return yes("powervm", CPUINFO, line);
    }
    let product = read(PRODUCT)?.unwrap_or_default();
    if vendor.starts_with("Amazon EC2") && product.trim_end().ends_with(".metal") {
        return Ok(Virtual::No);
    }
    let by_firmware = FIRMWARE
        .iter()
        .find(|(maker, begins, _)| vendor.starts_with(maker) && product.starts_with(begins));
    if let Some((.., name)) = by_firmware {
        return yes(name, VENDOR, &vendor);
    }
    // A device tree that names a board is of that board.
    match vendor.is_empty() && read(TREE_MODEL)?.is_some() {
        true => Ok(Virtual::No),
        false => Ok(Virtual::Unknown),
    }
}
