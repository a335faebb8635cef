//! A server for tests, on this machine. It answers as a closure says, and records the requests.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// A request as the server saw it.
#[derive(Clone, Debug)]
pub(crate) struct SeenRequest {
    pub(crate) verb: String,
    /// With the query.
    pub(crate) path: String,
    /// Names in lower case.
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: String,
}

impl SeenRequest {
    /// Verb and path.
    pub(crate) fn line(&self) -> String {
        format!("{} {}", self.verb, self.path)
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap_or_default()
    }
}

/// What the server does.
#[derive(Clone, Debug)]
pub(crate) enum TestAnswer {
    /// Sends all of it.
    Full { status: u16, headers: Vec<(&'static str, String)>, body: Vec<u8> },
    /// Sends the beginning and closes the connection.
    Cut { status: u16, body: Vec<u8> },
    /// Closes the connection without an answer.
    Reset,
    /// Says nothing for some time, then closes the connection.
    Silent(Duration),
}

impl TestAnswer {
    pub(crate) fn json(status: u16, body: serde_json::Value) -> TestAnswer {
        let headers = vec![("content-type", "application/json".to_owned())];
        TestAnswer::Full { status, headers, body: body.to_string().into_bytes() }
    }

    pub(crate) fn empty(status: u16) -> TestAnswer {
        TestAnswer::Full { status, headers: Vec::new(), body: Vec::new() }
    }

    /// An error as catalogs word it.
    pub(crate) fn error(status: u16, kind: &str, message: &str) -> TestAnswer {
        TestAnswer::json(status, serde_json::json!({"error": {"message": message, "type": kind, "code": status}}))
    }

    pub(crate) fn with(mut self, name: &'static str, value: &str) -> TestAnswer {
        if let TestAnswer::Full { headers, .. } = &mut self {
            headers.push((name, value.to_owned()));
        }
        self
    }
}

type Handler = Box<dyn FnMut(&SeenRequest) -> TestAnswer + Send>;

struct Shared {
    handler: Mutex<Handler>,
    seen: Mutex<Vec<SeenRequest>>,
    stopped: AtomicBool,
}

/// A running server. It stops when it is dropped.
pub(crate) struct TestServer {
    address: SocketAddr,
    shared: Arc<Shared>,
}

impl TestServer {
    pub(crate) fn start(handler: impl FnMut(&SeenRequest) -> TestAnswer + Send + 'static) -> TestServer {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            handler: Mutex::new(Box::new(handler)),
            seen: Mutex::default(),
            stopped: AtomicBool::new(false),
        });
        let served = shared.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if served.stopped.load(Ordering::Relaxed) {
                    return;
                }
                let (Ok(stream), served) = (stream, served.clone()) else { continue };
                std::thread::spawn(move || served.serve(stream));
            }
        });
        TestServer { address, shared }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The requests so far.
    pub(crate) fn seen(&self) -> Vec<SeenRequest> {
        self.shared.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The requests so far as lines; they are forgotten.
    pub(crate) fn take_lines(&self) -> Vec<String> {
        let mut seen = self.shared.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.drain(..).map(|request| request.line()).collect()
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::Relaxed);
        drop(TcpStream::connect(self.address));
    }
}

impl Shared {
    /// Answers the requests of a connection.
    fn serve(&self, stream: TcpStream) {
        let Ok(mut out) = stream.try_clone() else { return };
        let mut reader = BufReader::new(stream);
        while let Some(request) = read(&mut reader) {
            self.seen.lock().unwrap_or_else(PoisonError::into_inner).push(request.clone());
            let answer = (self.handler.lock().unwrap_or_else(PoisonError::into_inner))(&request);
            let (status, headers, body, length) = match answer {
                TestAnswer::Full { status, headers, body } => (status, headers, body.clone(), body.len()),
                TestAnswer::Cut { status, body } => (status, Vec::new(), body.clone(), body.len() + 100),
                TestAnswer::Reset => break,
                TestAnswer::Silent(time) => {
                    std::thread::sleep(time);
                    break;
                }
            };
            let mut text = format!("HTTP/1.1 {status} X\r\n");
            if status != 204 && status != 304 {
                text += &format!("content-length: {length}\r\n");
            }
            for (name, value) in headers {
                text += &format!("{name}: {value}\r\n");
            }
            let sent = out.write_all(format!("{text}\r\n").as_bytes()).and_then(|()| out.write_all(&body));
            if sent.and_then(|()| out.flush()).is_err() || length > body.len() {
                break;
            }
        }
        // The client has closed the connection already.
        let _ = out.shutdown(Shutdown::Both);
    }
}

fn read(reader: &mut BufReader<TcpStream>) -> Option<SeenRequest> {
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|n| *n > 0)?;
    let mut parts = line.split_whitespace();
    let (verb, path) = (parts.next()?.to_owned(), parts.next()?.to_owned());
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let length = headers.get("content-length").and_then(|n| n.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(SeenRequest { verb, path, headers, body: String::from_utf8_lossy(&body).into_owned() })
}
