// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `punctual serve`: a page over the store, to be read in a browser.
//!
//! It answers with what the program makes: the JSON of `runs list`, `runs show` and `compare`, and the pages of `report`. A run is reached by its whole id alone, so no path comes from a request.

mod order;
mod page;

use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use punctual_model::{Comparison, RUN_LIST_FORMAT, RunList, RunListEntry, json};
use punctual_report::document::{Document, Material};
use punctual_report::{export, html};
use punctual_store::{Filter, Store, StoredRun};
use punctual_verdict::comparison::{ComparisonRequest, Metric, compare};
use punctual_verdict::select::{Chosen, Found, RunSource, SelectError, of_sources};
use punctual_verdict::words::clean;
use uuid::Uuid;

use self::order::Order;
use crate::cli::ServeArgs;
use crate::error::CliError;
use crate::exit::Exit;
use crate::home;
use crate::http::{Access, Limits, Request, Response, Server, Token};
use crate::metrics::bind;
use crate::output::remark;
use crate::pages::{items, made_now};
use crate::signals::StopRequest;

/// Runs of one comparison or overlay: more take long, and the machine may have other work.
const RUNS_AT_ONCE: usize = 200;

/// Runs of a list, where no limit is asked for.
const LISTED: u32 = 500;

/// Time between two looks whether to end.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Serves until a signal comes.
pub(crate) fn run(home: Option<&Path>, args: &ServeArgs) -> Result<Exit, CliError> {
    let store = Store::open_existing(home::find(home)?)?;
    let mut token = Token::given(args.token_file.as_deref())?;
    let outside = !args.listen.ip().to_canonical().is_loopback();
    let generated = token.is_none() && outside;
    if generated {
        token = Some(Token::generate()?);
    }
    let shown = token.clone().filter(|_| generated);
    let access = Access::new("--listen", args.listen, token, args.host.clone())?;
    let listener = bind("--listen", args.listen)?;
    let stop = StopRequest::on_signals()?;
    let address = listener.local_addr().unwrap_or(args.listen);
    remark(&format!(
        "Serving {} on http://{address}/; Ctrl-C stops.",
        clean(&store.home().display().to_string())
    ));
    match shown {
        Some(token) => remark(&format!(
            "Token for this session, shown only once: {0}\nSign in with a browser: http://{address}/?token={0}",
            token.text()
        )),
        None if outside => remark("Clients need the token that was configured."),
        None => {}
    }
    home::remark_if_missing(store.home());
    let site = Site {
        store,
        // One answer that reads runs at a time: to serve must not take every CPU.
        turn: Mutex::new(()),
    };
    let answer = move |request: &Request| site.answer(request);
    let server = Server::start(listener, access, Limits::default(), Box::new(answer))
        .map_err(|err| CliError::failed_to("serve").because(err))?;
    while !stop.is_set() {
        std::thread::sleep(LOOK_EVERY);
    }
    drop(server);
    Ok(Exit::Fine)
}

struct Site {
    store: Store,
    turn: Mutex<()>,
}

/// Why there is no answer: a status and a reason.
type Refused = (u16, String);

impl Site {
    fn answer(&self, request: &Request) -> Response {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let is_api = request.path.starts_with("/api/");
        match self.route(request) {
            Ok(response) => response,
            Err((status, why)) if is_api => Response::text(status, &format!("{why}\n")),
            Err((status, why)) => Response::html(status, page::error(&why)),
        }
    }

    fn route(&self, request: &Request) -> Result<Response, Refused> {
        known(request)?;
        if !self.store.is_there() {
            return Err((
                503,
                format!("no store is in {}", self.store.home().display()),
            ));
        }
        match request.path.as_str() {
            "/" => Ok(Response::html(
                200,
                page::list(request, order(request)?, &self.list(request)?),
            )),
            "/compare" => {
                let comparison = self.compare(request)?;
                self.report(vec![comparison], self.chosen(request)?)
            }
            "/overlay" => match self.chosen(request)? {
                runs if runs.is_empty() => Err((400, "choose runs".to_owned())),
                runs => self.report(Vec::new(), runs),
            },
            "/api/runs" => json(&self.list(request)?),
            "/api/compare" => json(&self.compare(request)?),
            path => {
                let (as_json, id) =
                    match (path.strip_prefix("/api/runs/"), path.strip_prefix("/run/")) {
                        (Some(id), _) => (true, id),
                        (_, Some(id)) => (false, id),
                        _ => return Err((404, "nothing is here".to_owned())),
                    };
                let run = self.open(id)?;
                if !as_json {
                    return self.report(Vec::new(), vec![run]);
                }
                let mut body = Vec::new();
                export::json_run(run.record(), &mut body).map_err(|err| failed(&err))?;
                Ok(Response::json(200, body))
            }
        }
    }

    /// Opens a run by its whole id.
    fn open(&self, id: &str) -> Result<StoredRun, Refused> {
        let none = || (404, "no such run".to_owned());
        // Hyphenated and in small letters, as the directory is named: no other form is a path here.
        let id = id
            .parse::<Uuid>()
            .ok()
            .filter(|uuid| uuid.to_string() == id);
        let id = id.ok_or_else(none)?;
        if !self.store.has(id) {
            return Err(none());
        }
        self.store.entry(id).run.map_err(|err| failed(&err))
    }

    fn list(&self, request: &Request) -> Result<RunList, Refused> {
        let asked = |name: &str| request.value(name).map(ToOwned::to_owned);
        let tag = match request.value("tag").map(|tag| tag.split_once('=')) {
            Some(None | Some(("", _))) => return Err((400, "tag: use KEY=VALUE".to_owned())),
            Some(Some((key, value))) => Some((key.to_owned(), value.to_owned())),
            None => None,
        };
        let valid = match request.value("valid") {
            None => None,
            Some("yes") => Some(true),
            Some("no") => Some(false),
            Some(_) => return Err((400, "valid: yes or no".to_owned())),
        };
        let limit = request.value("limit").map(str::parse::<u32>).transpose();
        let limit = limit.map_err(|_| (400, "limit: a number".to_owned()))?;
        let filter = Filter {
            name: asked("name"),
            tag,
            valid,
            limit: None,
        };
        let index = self.store.index().map_err(|err| failed(&err))?;
        let rows = index.list(&filter).map_err(|err| failed(&err))?;
        let fits = |entry: &RunListEntry| {
            let figures = entry.figures.as_ref();
            let is =
                |name: &str, of: &dyn Fn(&punctual_model::RunListFigures) -> Option<String>| {
                    request
                        .value(name)
                        .is_none_or(|wanted| figures.and_then(of).as_deref() == Some(wanted))
                };
            is("host", &|f| f.host.clone())
                && is("kernel", &|f| f.kernel.clone())
                && is("instrument", &|f| Some(f.instrument.clone()))
        };
        let limit = limit.unwrap_or(LISTED) as usize;
        let runs = rows.into_iter().map(RunListEntry::from);
        let mut runs: Vec<RunListEntry> = runs.filter(fits).collect();
        order(request)?.sort(&mut runs);
        let total = runs.len();
        runs.truncate(limit);
        Ok(RunList {
            format: RUN_LIST_FORMAT.to_owned(),
            runs,
            total: Some(total as u64),
            foreign: Vec::new(),
        })
    }

    /// Opens the runs of a group.
    fn group(&self, request: &Request, name: &str) -> Result<Vec<StoredRun>, Refused> {
        let ids: Vec<&str> = request.values(name).collect();
        if ids.len() > RUNS_AT_ONCE {
            return Err((400, format!("at most {RUNS_AT_ONCE} runs at once")));
        }
        ids.into_iter().map(|id| self.open(id)).collect()
    }

    fn compare(&self, request: &Request) -> Result<Comparison, Refused> {
        let metrics = request.values("metric").map(str::parse::<Metric>);
        let metrics: Vec<Metric> = metrics
            .collect::<Result<_, _>>()
            .map_err(|err| (400, err.to_string()))?;
        let mut groups = Vec::new();
        for name in ["a", "b"] {
            let runs = self.group(request, name)?;
            if runs.is_empty() {
                return Err((400, "choose runs for group A and for group B".to_owned()));
            }
            let runs: Vec<RunSource> = runs.into_iter().map(RunSource::Stored).collect();
            groups.push((name.to_uppercase(), Found::from(runs)));
        }
        let ids: Vec<&str> = groups
            .iter()
            .flat_map(|(_, found)| &found.runs)
            .map(|run| run.record().id.as_str())
            .collect();
        if ids
            .iter()
            .enumerate()
            .any(|(at, id)| ids.iter().take(at).any(|other| other == id))
        {
            return Err((400, "a run is in both groups or chosen twice".to_owned()));
        }
        let allow_invalid = match request.value("invalid") {
            None | Some("") => false,
            Some("allow") => true,
            Some(_) => return Err((400, "invalid: allow, or nothing".to_owned())),
        };
        let chosen = Chosen {
            metrics: &metrics,
            allow_invalid,
            ..Chosen::default()
        };
        let refused = |err: SelectError| (400, CliError::from(err).in_one_line());
        let groups = of_sources(groups, &chosen).map_err(refused)?;
        let asked = ComparisonRequest {
            metrics,
            ..ComparisonRequest::default()
        };
        compare(groups, &asked).map_err(|err| (400, err.to_string()))
    }

    /// Opens the runs of both groups.
    fn chosen(&self, request: &Request) -> Result<Vec<StoredRun>, Refused> {
        let mut runs = self.group(request, "a")?;
        runs.extend(self.group(request, "b")?);
        Ok(runs)
    }

    /// Answers with the page that `punctual report` makes of them.
    fn report(
        &self,
        comparisons: Vec<Comparison>,
        runs: Vec<StoredRun>,
    ) -> Result<Response, Refused> {
        let runs = runs.into_iter().map(RunSource::Stored).collect();
        let material = Material {
            runs: items(runs).map_err(|err| (500, err.in_one_line()))?,
            comparisons,
            ..made_now()
        };
        let page = html::page_of_site(&Document::new(&material), "/", "All runs");
        Ok(Response::html_running(html::SCRIPT, page))
    }
}

fn order(request: &Request) -> Result<Order, Refused> {
    Order::parse(request.value("sort")).map_err(|why| (400, why))
}

fn json(value: &impl serde::Serialize) -> Result<Response, Refused> {
    let mut body = json::indented(value).map_err(|err| failed(&err))?;
    body.push(b'\n');
    Ok(Response::json(200, body))
}

fn failed(err: &dyn std::error::Error) -> Refused {
    (500, err.to_string())
}

/// Refuses what is asked of nobody: a filter with a slip in its name would show all runs.
fn known(request: &Request) -> Result<(), Refused> {
    let names: &[&str] = match request.path.as_str() {
        "/" | "/api/runs" => &[
            "host",
            "kernel",
            "tag",
            "name",
            "instrument",
            "valid",
            "limit",
            "sort",
            "token",
        ],
        "/compare" | "/api/compare" | "/overlay" => &["a", "b", "metric", "invalid"],
        _ => return Ok(()),
    };
    let mut asked = request.query.iter().map(|(name, _)| name.as_str());
    if let Some(name) = asked.find(|name| !names.contains(name)) {
        return Err((
            400,
            format!("{name}: not asked here, but {}", names.join(", ")),
        ));
    }
    // Of a filter that is given twice one would be dropped.
    let several = ["a", "b", "metric"];
    let mut single = names.iter().filter(|name| !several.contains(name));
    match single.find(|name| request.values(name).count() > 1) {
        Some(name) => Err((400, format!("{name}: given more than once"))),
        None => Ok(()),
    }
}
