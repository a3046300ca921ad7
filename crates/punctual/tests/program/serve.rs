// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `serve` and `measure --metrics` as a client sees them.

mod metrics;

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, Stdio};

use serde_json::Value;

use crate::browser::Browser;
use crate::common::{HANG, Home, stored};

const SECRET: &str = "0123456789abcdef0123456789abcdef";

/// A server, and the address that it said.
struct Served {
    child: Child,
    address: String,
    said: Vec<String>,
}

impl Served {
    fn start(home: &Home, args: &[&str], env: &[(&str, &str)]) -> Self {
        let mut command = home.command(["serve"].iter().chain(args));
        let mut child = command
            .env_remove("PUNCTUAL_TOKEN")
            .envs(env.iter().copied())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let first = lines.next().unwrap().unwrap();
        let address = first
            .split("http://")
            .nth(1)
            .unwrap_or_else(|| panic!("{first}"));
        let address = address.split('/').next().unwrap().to_owned();
        let more = if first.contains("127.0.0.1") || !env.is_empty() {
            0
        } else {
            2
        };
        let said = lines.by_ref().take(more).map(Result::unwrap).collect();
        Self {
            child,
            address,
            said,
        }
    }

    fn port(&self) -> &str {
        self.address.rsplit(':').next().unwrap()
    }

    fn ask(&self, target: &str, headers: &str) -> (u16, String) {
        let host = format!("127.0.0.1:{}", self.port());
        ask(
            &host,
            &format!("GET {target} HTTP/1.1\r\nHost: {host}\r\n{headers}\r\n"),
        )
    }

    fn json(&self, target: &str) -> Value {
        let (status, body) = self.ask(target, "");
        assert_eq!(status, 200, "{target}: {body}");
        serde_json::from_str(&body).unwrap()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Sends a request, and returns the status and the body.
fn ask(address: &str, request: &str) -> (u16, String) {
    let Ok(mut stream) = TcpStream::connect(address) else {
        return (0, String::new());
    };
    stream.set_read_timeout(Some(HANG)).unwrap();
    drop(stream.write_all(request.as_bytes()));
    let mut answer = Vec::new();
    drop(stream.read_to_end(&mut answer));
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let status = answer
        .split(' ')
        .nth(1)
        .and_then(|s| s.parse().ok())
        .unwrap_or(0);
    let body = answer
        .split_once("\r\n\r\n")
        .map(|(_, body)| body.to_owned());
    (status, body.unwrap_or_default())
}

#[test]
fn the_host_of_a_run_is_its_tag_before_its_own_name() {
    let home = Home::aside();
    for (number, host) in [(1, Some("rack1-a")), (2, Some("rack1-b")), (3, None)] {
        let mut record = stored::record();
        record["id"] = format!("01900000-0000-7000-8000-{number:012x}").into();
        record["host"]["hostname"] = "board".into();
        if let Some(host) = host {
            record["tags"]["host"] = host.into();
        }
        let dir = home.runs_dir().join(record["id"].as_str().unwrap());
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join("run.json"), record.to_string()).unwrap();
    }
    let served = Served::start(&home, &["--listen", "127.0.0.1:0"], &[]);
    for host in ["rack1-a", "rack1-b", "board"] {
        let list = served.json(&format!("/api/runs?host={host}"));
        assert_eq!(list["total"], 1, "{host}: {list:#}");
        assert_eq!(list["runs"][0]["figures"]["host"], host);
    }
}

#[test]
fn the_page_and_its_json_are_what_the_program_prints() {
    let home = Home::aside();
    let first = home.quick(&["--name=<b>one</b>", "--tag=kernel=rt"]);
    let second = home.quick(&["--name=two"]);
    let (a, b) = (
        first["id"].as_str().unwrap(),
        second["id"].as_str().unwrap(),
    );
    let served = Served::start(&home, &["--listen", "127.0.0.1:0"], &[]);
    let printed = home.run(["runs", "list", "--json"]).json();
    assert_eq!(served.json("/api/runs"), printed);
    // Where a limit leaves runs out, it says so.
    let limited = served.json("/api/runs?limit=1");
    assert_eq!(
        limited,
        home.run(["runs", "list", "--json", "--limit=1"]).json()
    );
    assert_eq!(
        (limited["runs"].as_array().unwrap().len(), &limited["total"]),
        (1, &2.into())
    );
    let (_, page) = served.ask("/?sort=-max&limit=1", "");
    let all = "1 of 2 runs. <a href=\"/?limit=2&amp;sort=-max\">Show all</a>.";
    assert!(page.contains(all), "{page}");
    let (_, page) = served.ask("/?limit=2&sort=-max", "");
    assert!(page.contains(">2 runs. Tick"), "{page}");
    assert_eq!(
        served.json("/api/runs?tag=kernel%3Drt")["runs"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    assert_eq!(
        served.json("/api/runs?host=nobody")["runs"],
        Value::Array(Vec::new())
    );
    let kernel = first["host"]["kernel_release"].as_str().unwrap();
    let of_kernel = served.json(&format!("/api/runs?kernel={kernel}"));
    assert_eq!(of_kernel["runs"].as_array().unwrap().len(), 2);
    assert_eq!(served.json(&format!("/api/runs/{a}")), first);
    let compared = served.json(&format!("/api/compare?a={a}&b={b}&invalid=allow"));
    let printed = home.run([
        "compare",
        "--allow-invalid",
        "--json",
        &format!("--group=A={a}"),
        &format!("--group=B={b}"),
    ]);
    assert_eq!(compared["results"], printed.fine().json()["results"]);
    let (status, list) = served.ask("/", "");
    assert_eq!(status, 200);
    assert!(
        list.contains("&lt;b&gt;one&lt;/b&gt;") && !list.contains("<b>one"),
        "{list}"
    );
    assert!(
        !list.contains("<script") && !list.contains("src="),
        "{list}"
    );
    let (_, overlay) = served.ask(&format!("/overlay?a={a}&b={b}"), "");
    assert!(
        overlay.contains("<svg") && overlay.contains("p99.9"),
        "{overlay}"
    );
    let (_, run) = served.ask(&format!("/run/{a}"), "");
    assert!(
        run.contains("Latency in") && !run.contains("<b>one"),
        "{run}"
    );
    let (status, page) = served.ask(&format!("/compare?a={a}&b={b}&invalid=allow"), "");
    assert!(status == 200 && page.contains("p50"), "{page}");
    // The list looks as they do.
    let style = |page: &str| {
        let style = page.split("<style>").nth(1).unwrap();
        style.split("</style>").next().unwrap().to_owned()
    };
    assert_eq!(style(&list), style(&run));
    // They are what `report` writes, below a link to the list.
    for page in [overlay, run, page] {
        assert!(page.contains("<a href=\"/\">All runs</a>"), "{page}");
        assert!(page.contains("data-chart=\"0\""), "{page}");
    }
}

#[test]
fn a_heading_of_the_list_sorts_by_its_column_and_turns_the_order() {
    let home = Home::aside();
    let mut runs = [(); 3].map(|()| {
        let record = home.quick(&["--tag=kind=rt"]);
        let max = record["total"]["max_ns"].as_u64().unwrap();
        (max, record["id"].as_str().unwrap().to_owned())
    });
    runs.sort();
    let served = Served::start(&home, &["--listen", "127.0.0.1:0"], &[]);
    let list = |target: &str| {
        let (status, page) = served.ask(target, "");
        assert_eq!(status, 200, "{page}");
        let rows = page.split("href=\"/run/").skip(1);
        let rows = rows.map(|rest| rest.split('"').next().unwrap().to_owned());
        (rows.collect::<Vec<_>>(), page)
    };
    let mut wanted: Vec<String> = runs.into_iter().map(|(_, id)| id).collect();
    let has = |page: &str, state: &str, target: &str, text: &str| {
        let head = format!("aria-sort=\"{state}\"><a href=\"{target}\">Max \u{b5}s{text}</a>");
        assert!(page.contains(&head), "{head}: {page}");
    };
    let (_, page) = list("/");
    has(&page, "none", "/?sort=-max", "");
    let (rows, page) = list("/?sort=max");
    assert_eq!(rows, wanted);
    has(&page, "ascending", "/?sort=-max", " \u{25b4}");
    wanted.reverse();
    // A filter stays.
    let (rows, page) = list("/?sort=-max&tag=kind%3Drt");
    assert_eq!(rows, wanted);
    let turned = "/?sort=max&amp;tag=kind%3Drt";
    has(&page, "descending", turned, " \u{25be}");
}

#[test]
fn no_path_leads_out_of_the_runs_and_nothing_is_written() {
    let home = Home::aside();
    let id = home.quick(&[])["id"].as_str().unwrap().to_owned();
    fs::write(home.dir().join("secret"), "hidden-text").unwrap();
    let served = Served::start(&home, &["--listen", "127.0.0.1:0"], &[]);
    for target in [
        "/api/runs/../../secret",
        "/api/runs/..%2f..%2fsecret",
        "/api/runs/%2e%2e%2f%2e%2e%2fsecret",
        "/run/..%2f..%2f..%2fetc%2fpasswd",
        "/../../etc/passwd",
        "/run//etc/passwd",
        &format!("/api/runs/{id}/../{id}"),
        &format!("/api/runs/{id}/run.json"),
        &format!("/api/runs/{}", id.to_uppercase()),
        "/api/runs/00000000-0000-7000-8000-000000000000",
    ] {
        let (status, body) = served.ask(target, "");
        assert_eq!(status, 404, "{target}: {body}");
        assert!(
            !body.contains("hidden-text") && !body.contains("root:x:"),
            "{target}: {body}"
        );
    }
    for (target, expected) in [
        ("/api/runs?tag=x", 400),
        ("/?tag==", 400),
        ("/api/runs?limit=1&limit=2", 400),
        ("/?tag=a=b&tag=c=d", 400),
        ("/api/runs?limit=&limit=2", 200),
        ("/api/runs?valid=perhaps", 400),
        ("/api/runs?limit=-1", 400),
        ("/api/compare?a=x", 404),
        ("/api/compare", 400),
        ("/overlay", 400),
    ] {
        assert_eq!(served.ask(target, "").0, expected, "{target}");
    }
    let host = format!("127.0.0.1:{}", served.port());
    for method in [
        "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT",
    ] {
        let request = format!("{method} /api/runs/{id} HTTP/1.1\r\nHost: {host}\r\n\r\n");
        assert_eq!(ask(&host, &request).0, 405, "{method}");
    }
    assert_eq!(home.list().len(), 1);
}

#[test]
fn a_store_that_is_gone_is_not_an_empty_one() {
    let home = Home::aside();
    let id = home.quick(&[])["id"].as_str().unwrap().to_owned();
    let served = Served::start(&home, &["--listen", "127.0.0.1:0"], &[]);
    let statuses =
        || ["/", "/api/runs", &format!("/api/runs/{id}")].map(|target| served.ask(target, "").0);
    assert_eq!(statuses(), [200; 3]);
    let moved = home.dir().join("moved");
    fs::rename(home.store(), &moved).unwrap();
    assert_eq!(statuses(), [503; 3]);
    // So is the directory on which nothing is mounted any more, and nothing is written there.
    fs::create_dir(home.store()).unwrap();
    assert_eq!(statuses(), [503; 3]);
    let (_, page) = served.ask("/", "");
    assert!(page.contains("no store is in "), "{page}");
    fs::remove_dir(home.store()).unwrap();
    fs::rename(&moved, home.store()).unwrap();
    assert_eq!(statuses(), [200; 3]);
}

#[test]
fn a_filter_with_a_slip_in_its_name_is_refused() {
    let home = Home::aside();
    let server = Served::start(&home, &[], &[]);
    for target in [
        "/?hots=vm",
        "/api/runs?foo=1",
        "/api/compare?c=1",
        "/overlay?x=",
    ] {
        let (status, body) = server.ask(target, "");
        assert_eq!(status, 400, "{target}: {body}");
        assert!(body.contains("not asked here"), "{target}: {body}");
    }
}

#[test]
fn another_name_gets_no_answer_unless_it_is_ours() {
    let home = Home::aside();
    home.quick(&[]);
    let args = ["--listen", "127.0.0.1:0", "--host", "board.lan"];
    let served = Served::start(&home, &args, &[]);
    let address = format!("127.0.0.1:{}", served.port());
    let named = |host: &str| ask(&address, &format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n")).0;
    assert_eq!(named("evil.example"), 421);
    assert_eq!(named("board.lan:80"), 200);
    assert_eq!(named("localhost"), 200);
}

#[test]
fn other_machines_need_the_token() {
    let home = Home::aside();
    home.quick(&[]);
    let served = Served::start(
        &home,
        &["--listen", "0.0.0.0:0"],
        &[("PUNCTUAL_TOKEN", SECRET)],
    );
    assert_eq!(served.ask("/", "").0, 401);
    assert_eq!(
        served
            .ask("/api/runs", "Authorization: Bearer wrong-wrong-wrong-\r\n")
            .0,
        401
    );
    let bearer = format!("Authorization: Bearer {SECRET}\r\n");
    assert_eq!(served.ask("/api/runs", &bearer).0, 200);
    let cookie = format!("Cookie: punctual-token={SECRET}\r\n");
    assert_eq!(served.ask("/", &cookie).0, 200);
    assert_eq!(served.ask(&format!("/?token={SECRET}"), "").0, 303);
    drop(served);
    // None was given: one is made, and said.
    let served = Served::start(&home, &["--listen", "0.0.0.0:0"], &[]);
    let token = served.said[0].rsplit(' ').next().unwrap().to_owned();
    assert_eq!(token.len(), 64, "{:?}", served.said);
    assert_eq!(served.ask("/", "").0, 401);
    assert_eq!(
        served
            .ask("/", &format!("Authorization: Bearer {token}\r\n"))
            .0,
        200
    );
}

#[test]
fn a_token_that_others_can_read_or_guess_is_refused() {
    let home = Home::aside();
    home.quick(&[]);
    let path = home.dir().join("token");
    let file = path.to_str().unwrap();
    fs::write(&path, SECRET).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    let answer = home.run(["serve", "--listen=127.0.0.1:0", "--token-file", file]);
    answer.error(1, &["users other than its owner"]).hinted();
    fs::write(&path, "short").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    let answer = home.run(["serve", "--listen=127.0.0.1:0", "--token-file", file]);
    answer.error(2, &["a token must have 16 to 1024"]).hinted();
    let metrics = ["measure", "wakeup", "--metrics=0.0.0.0:0"];
    let mut command = home.command(metrics);
    command.env_remove("PUNCTUAL_TOKEN");
    crate::common::finish(command)
        .error(2, &["no token is set"])
        .hinted();
}

/// scripts/browser.py sorts, filters, chooses, overlays and compares as somebody would.
#[test]
fn runs_are_chosen_overlaid_and_compared_in_a_browser() {
    let Some(browser) = Browser::new() else {
        return;
    };
    let home = Home::aside();
    for (name, kernel) in [
        ("a-1", "rt"),
        ("a-2", "rt"),
        ("b-1", "</b>"),
        ("b-2", "</b>"),
    ] {
        let tag = format!("--tag=kind={kernel}");
        home.quick(&[&format!("--name={name}"), &tag]);
    }
    // One has a long name, a long host and a long tag.
    let whole = |name: &str| format!("{name}{}", "_of_the_night_before_the_release".repeat(3));
    for run in fs::read_dir(home.runs_dir()).unwrap() {
        let file = run.unwrap().path().join("run.json");
        let mut record: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
        if record["name"] == "b-2" {
            record["name"] = whole("b-2").into();
            record["host"]["hostname"] = whole("machine").into();
            record["tags"]["branch"] = whole("feature").into();
            fs::write(file, record.to_string()).unwrap();
        }
    }
    stored::vouch_for(&home.store());
    let served = Served::start(&home, &["--listen", "127.0.0.1:0"], &[]);
    browser.opens(["--site".to_owned(), format!("http://{}/", served.address)]);
}
