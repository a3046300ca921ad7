// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `--metrics` of `measure`, `assess` and `experiment`: the run that goes on, for Prometheus.
//!
//! The address is taken before the run, so that one that is in use stops nothing later. The threads
//! that answer are started by the first event, on the housekeeping CPUs; a scrape reads what the
//! recorder said last, and reaches neither it nor a measuring thread.

use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use punctual_model::Event;
use punctual_report::openmetrics::{CONTENT_TYPE, Moment, page};

use crate::cli::MetricsArgs;
use crate::error::CliError;
use crate::http::{Access, Limits, Request, Response, Server, Token};
use crate::output::remark;

/// The page of the run that goes on.
#[derive(Debug)]
pub(crate) struct Metrics {
    moment: Arc<Mutex<Moment>>,
    server: Mutex<Option<Begun>>,
}

#[derive(Debug)]
enum Begun {
    NotYet(TcpListener, Access),
    Running {
        /// Held: it ends when this is dropped.
        _server: Server,
    },
}

impl Metrics {
    /// Takes the address that `args` name, if they name one.
    pub(crate) fn of(
        args: &MetricsArgs,
        instrument: &str,
        name: Option<&str>,
    ) -> Result<Option<Arc<Self>>, CliError> {
        let Some(address) = args.metrics else {
            return Ok(None);
        };
        let token = Token::given(args.metrics_token_file.as_deref())?;
        let access = Access::new("--metrics", address, token, Vec::new())?;
        let listener = bind("--metrics", address)?;
        let moment = Moment {
            instrument: instrument.to_owned(),
            name: name.map(ToOwned::to_owned),
            ..Moment::default()
        };
        Ok(Some(Arc::new(Self {
            moment: Arc::new(Mutex::new(moment)),
            server: Mutex::new(Some(Begun::NotYet(listener, access))),
        })))
    }

    /// Names the run that comes next, and how far the work is that it is part of: runs that are done, and runs in all.
    pub(crate) fn next(&self, instrument: &str, name: &str, overall: (u64, u64)) {
        *lock(&self.moment) = Moment {
            instrument: instrument.to_owned(),
            name: Some(name.to_owned()),
            overall: Some(overall),
            ..Moment::default()
        };
    }

    /// Learns what the run says.
    pub(crate) fn event(&self, event: &Event) {
        {
            let mut moment = lock(&self.moment);
            match event {
                Event::Started { id, .. } => id.clone_into(&mut moment.id),
                Event::Progress(progress) => moment.progress = Some(progress.clone()),
                Event::Ended { reason, t_ns } => moment.ended = Some((*reason, *t_ns)),
                Event::Threshold(_) => {}
            }
        }
        let mut server = lock(&self.server);
        *server = match server.take() {
            Some(Begun::NotYet(listener, access)) => self.start(listener, access),
            other => other,
        };
    }

    fn start(&self, listener: TcpListener, access: Access) -> Option<Begun> {
        let moment = Arc::clone(&self.moment);
        let answer = move |request: &Request| match request.path.as_str() {
            "/metrics" => {
                let now = lock(&moment).clone();
                Response::new(200, CONTENT_TYPE, page(&now))
            }
            _ => Response::text(404, "only /metrics is served here\n"),
        };
        match Server::start(listener, access, Limits::default(), Box::new(answer)) {
            Ok(server) => Some(Begun::Running { _server: server }),
            Err(err) => {
                remark(&format!("No metrics: could not start a thread: {err}"));
                None
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What is inside is replaced as a whole, so it is whole also after a panic.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Listens on `address`, which `option` names.
pub(crate) fn bind(option: &str, address: SocketAddr) -> Result<TcpListener, CliError> {
    TcpListener::bind(address).map_err(|err| {
        let hint = match err.kind() {
            std::io::ErrorKind::AddrInUse => "another program listens there; name another port",
            std::io::ErrorKind::PermissionDenied => "ports below 1024 need root; name another",
            _ => "name an address of this machine, such as 127.0.0.1:9464",
        };
        CliError::failed_to(format!("listen on {option} {address}"))
            .because(err)
            .hint(hint)
    })
}
