// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `punctual kernel fetch|list|rm`.

use std::collections::BTreeSet;
use std::path::Path;

use punctual_kernel::source::{Fetched, KernelStoreError, StoredKind};
use punctual_model::KernelStock;
use punctual_report::document::Document;

use crate::cli::KernelFetchArgs;
use crate::error::CliError;
use crate::exit::Exit;
use crate::kernels::kernel_store::{
    failed, fetched, in_use, listed, open, open_existing, show, wanted,
};
use crate::output::print;
use crate::signals::StopRequest;

/// Lists what there is.
pub(super) fn list(home: Option<&Path>, json: bool) -> Result<Exit, CliError> {
    let list = listed(&open_existing(home)?)?;
    show(&list, json, Document::of_kernel_stock)?;
    Ok(if list.damaged.is_empty() {
        Exit::Fine
    } else {
        Exit::Failed
    })
}

/// Removes names.
pub(super) fn remove(home: Option<&Path>, names: &[String]) -> Result<Exit, CliError> {
    let stock = open(home)?;
    let mut claims = Vec::new();
    // All are found before the first is removed: one that is in use, or a mistake in the list, removes nothing.
    for name in names.iter().collect::<BTreeSet<_>>() {
        let found = claims.len();
        for kind in StoredKind::ALL {
            match stock.claim(kind, name) {
                Ok(claim) => claims.push((kind, name, claim)),
                Err(KernelStoreError::Unknown { .. }) => {}
                Err(err) => {
                    let hint = in_use(&err);
                    return Err(failed(&format!("remove {name}"), err).hints(hint));
                }
            }
        }
        if claims.len() == found {
            return Err(
                CliError::usage(format!("{name}: no source, image or build of this name"))
                    .hint("`punctual kernel list` lists them all"),
            );
        }
    }
    for (kind, name, claim) in claims {
        let removed = stock.remove(claim);
        removed.map_err(|err| failed(&format!("remove {name}"), err))?;
        print(&format!("Removed {} {name}\n", kind.noun()))?;
    }
    Ok(Exit::Fine)
}

/// Fetches a source or an image, and shows it.
pub(super) fn fetch(home: Option<&Path>, args: &KernelFetchArgs) -> Result<Exit, CliError> {
    let what = wanted(&args.what)?;
    let stock = open(home)?;
    let stop = StopRequest::on_signals()?;
    let fetched = fetched(
        &stock,
        (&args.what, &what),
        args.name.clone(),
        args.sha256.clone(),
        &stop,
    )?;
    let mut list = KernelStock {
        format: punctual_model::KERNEL_STOCK_FORMAT.to_owned(),
        directory: listed(&stock)?.directory,
        sources: Vec::new(),
        images: Vec::new(),
        builds: Vec::new(),
        damaged: Vec::new(),
    };
    match fetched {
        Fetched::Source(source) => list.sources.push(source),
        Fetched::Image(image) => list.images.push(image),
    }
    show(&list, args.json, Document::of_kernel_stock)?;
    Ok(Exit::Fine)
}
