//! PostgreSQL servers that hold catalogs.
//!
//! Requests run on the runtime of the process. Each wait has a limit and can be cancelled, so that a server or proxy
//! that accepts connections and stays silent stops nobody.

use std::future::Future;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio_postgres::config::{Host, SslMode};
use tokio_postgres::error::SqlState;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Config};

use super::postgres_tls::{Connector, Tls};
use super::uri_parameters::UriParameters;
use super::{Database, Statement, TextRow};
use crate::error::{Error, Result};
use crate::store::runtime::wait;

/// How long to wait for a connection unless the URI says `connect_timeout=SECONDS`.
const CONNECT: Duration = Duration::from_secs(15);

/// How long to wait for an answer unless the URI says `socketTimeout=SECONDS`, as the JDBC driver calls it.
const ANSWER: Duration = Duration::from_secs(60);

/// The name of the time limit of an answer.
const ANSWER_NAME: &str = "socketTimeout";

/// A database of a server.
#[derive(Clone)]
pub(super) struct Postgres {
    config: Config,
    tls: Tls,
    /// The time limit of each answer.
    answer: Duration,
}

/// A reason why a request has no result.
enum Failed {
    /// The server did not answer in time.
    Silent,
    /// The client or the server failed.
    Database(tokio_postgres::Error),
    /// One of them during the commit.
    Commit(Box<Failed>),
}

impl From<tokio_postgres::Error> for Failed {
    fn from(error: tokio_postgres::Error) -> Failed {
        Failed::Database(error)
    }
}

impl std::fmt::Debug for Postgres {
    /// Without the password.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Postgres({})", self.place())
    }
}

impl Postgres {
    /// The database of a URI `postgresql://…`.
    pub(super) fn new(uri: &str, user: Option<&str>, password: Option<&str>) -> Result<Postgres> {
        let mut parameters = UriParameters::of(uri);
        let (tls, answer) = (Tls::of_uri(&mut parameters)?, answer_limit(&mut parameters)?);
        let mut config: Config = parameters.remaining_uri().parse().map_err(|e: tokio_postgres::Error| {
            Error::invalid("the uri of the PostgreSQL database is wrong")
                .hint("Write postgresql://user:password@host:port/database")
                .because(e)
        })?;
        if let Some(user) = user {
            config.user(user);
        }
        if let Some(password) = password {
            config.password(password);
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT);
        }
        config.ssl_mode(tls.mode);
        // Without a name the client knows no TLS.
        if config.get_hosts().is_empty() {
            for address in config.get_hostaddrs().to_vec() {
                config.host(address.to_string());
            }
        }
        Ok(Postgres { config, tls, answer })
    }

    fn place(&self) -> String {
        let hosts: Vec<String> = self.config.get_hosts().iter().map(host_text).collect();
        format!("{} at {}", self.config.get_dbname().unwrap_or("the default database"), hosts.join(", "))
    }

    /// Connects, within the time limit of a connection for each host.
    async fn open(&self) -> Result<Client> {
        let connector = self.tls.connector();
        let mut connected = self.connect(&self.config, connector.clone()).await;
        if matches!(connected, Err(Failed::Database(_))) && self.tls.may_do_without(&connector) {
            // Who only prefers TLS takes a plain connection where none comes about, as libpq does.
            let plain = self.config.clone().ssl_mode(SslMode::Disable).to_owned();
            connected = self.connect(&plain, self.tls.connector()).await;
        }
        connected.map_err(|failed| {
            let e = match failed {
                Failed::Database(e) => e,
                _ => return self.silent(self.connect_limit(), "connect_timeout"),
            };
            let refused = e.code().is_some_and(|c| {
                *c == SqlState::INVALID_PASSWORD || *c == SqlState::INVALID_AUTHORIZATION_SPECIFICATION
            });
            let error = match refused {
                true if self.tls.mode == SslMode::Disable => Error::denied("the database refused the user")
                    .hint("If the server requires TLS, set sslmode=require"),
                true => Error::denied("the database refused the user"),
                false => self.unreachable(),
            };
            error.with("database", self.place()).with("reason", reason(&e)).because(e)
        })
    }

    async fn connect(&self, config: &Config, connector: Connector) -> Result<Client, Failed> {
        let (client, connection) = in_time(self.connect_limit(), config.connect(connector)).await?;
        // It ends when the client is dropped. The client reports its errors.
        tokio::spawn(async move { connection.await.unwrap_or(()) });
        Ok(client)
    }

    fn connect_limit(&self) -> Duration {
        let hosts = self.config.get_hosts().len().clamp(1, 16) as u32;
        self.config.get_connect_timeout().copied().unwrap_or(CONNECT).saturating_mul(hosts)
    }

    fn silent(&self, limit: Duration, name: &str) -> Error {
        Error::store(format!("the database did not answer within {} seconds", limit.as_secs_f64()))
            .with("database", self.place())
            .hint(format!("Check that it runs and is not locked. {name}=SECONDS in the uri sets another limit"))
    }

    fn unreachable(&self) -> Error {
        Error::store("the database can't be reached").hint(match self.tls.mode {
            SslMode::Disable => "If the server requires TLS, set sslmode=require or sslmode=verify-full in the uri",
            SslMode::Require => {
                "It must offer TLS with a certificate that sslmode and sslrootcert of the uri allow; one that is verified must be \
                 of X.509 version 3"
            }
            _ => "Is its address right, and does it accept connections?",
        })
    }

    fn failed(&self, failed: Failed) -> Error {
        let error = match failed {
            Failed::Silent => return self.silent(self.answer, ANSWER_NAME),
            Failed::Database(error) => error,
            // The server refused the commit.
            Failed::Commit(failed) if matches!(&*failed, Failed::Database(e) if e.as_db_error().is_some()) => {
                return self.failed(*failed);
            }
            Failed::Commit(failed) => {
                return self.unknown(self.failed(*failed));
            }
        };
        let kind = match error.code() {
            Some(c) if *c == SqlState::UNIQUE_VIOLATION => Error::already_exists("the row is in the database already"),
            Some(c) if *c == SqlState::INSUFFICIENT_PRIVILEGE => Error::denied("the database refused the statement"),
            _ => Error::store("the database failed"),
        };
        kind.with("database", self.place()).with("reason", reason(&error)).because(error)
    }

    fn unknown(&self, cause: Error) -> Error {
        Error::state_unknown("it is unknown whether the database committed the transaction")
            .with("database", self.place())
            .because(cause)
    }

    async fn rows(&self, statement: &Statement) -> Result<Vec<TextRow>> {
        let client = self.open().await?;
        let values = values(statement);
        let text = numbered(statement);
        let read = async {
            let rows = in_time(self.answer, client.query(&text, &values)).await?;
            let texts = |r: &tokio_postgres::Row| (0..r.len()).map(|i| r.try_get::<_, Option<String>>(i)).collect();
            Ok(rows.iter().map(texts).collect::<Result<Vec<TextRow>, tokio_postgres::Error>>()?)
        };
        read.await.map_err(|e| self.failed(e))
    }

    /// Runs statements in one transaction, and commits it if all their counts are as expected. Returns whether it did,
    /// and the counts.
    ///
    /// # Errors
    /// `CommitStateUnknown` for a cancellation after the commit began; errors of the database.
    fn changed(&self, statements: &[Statement], is_expected: fn(u64) -> bool) -> Result<(bool, Vec<u64>)> {
        let (database, statements, begins) = (self.clone(), statements.to_vec(), Arc::new(OnceLock::new()));
        let shared = begins.clone();
        match wait(async move { database.committed(&statements, is_expected, &shared).await }) {
            Err(stop) if *begins.get_or_init(|| false) => Err(self.unknown(stop)),
            done => done?,
        }
    }

    /// As [`Postgres::changed`]. A cancellation sets `begins` to false. Then the transaction is never committed.
    async fn committed(
        &self,
        statements: &[Statement],
        is_expected: fn(u64) -> bool,
        begins: &OnceLock<bool>,
    ) -> Result<(bool, Vec<u64>)> {
        let mut client = self.open().await?;
        let run = async {
            let transaction = in_time(self.answer, client.transaction()).await?;
            let mut counts = Vec::with_capacity(statements.len());
            for statement in statements {
                let values = values(statement);
                counts.push(in_time(self.answer, transaction.execute(&numbered(statement), &values)).await?);
            }
            if !counts.iter().all(|count| is_expected(*count)) || !*begins.get_or_init(|| true) {
                in_time(self.answer, transaction.rollback()).await?;
                return Ok((false, counts));
            }
            in_time(self.answer, transaction.commit()).await.map_err(|e| Failed::Commit(Box::new(e)))?;
            Ok((true, counts))
        };
        run.await.map_err(|e| self.failed(e))
    }
}

/// The result of a request, if it comes within a time limit.
async fn in_time<T>(
    limit: Duration,
    request: impl Future<Output = Result<T, tokio_postgres::Error>>,
) -> Result<T, Failed> {
    match tokio::time::timeout(limit, request).await {
        Ok(done) => Ok(done?),
        Err(_) => Err(Failed::Silent),
    }
}

/// Takes the time limit of answers from the parameters of a URI.
///
/// # Errors
/// `InvalidInput` for a value that is not a number of seconds.
fn answer_limit(parameters: &mut UriParameters<'_>) -> Result<Duration> {
    let Some(value) = parameters.take(ANSWER_NAME)? else { return Ok(ANSWER) };
    let seconds = value.parse().ok().filter(|seconds| *seconds > 0.0);
    seconds.and_then(|s| Duration::try_from_secs_f64(s).ok()).ok_or_else(|| {
        Error::invalid(format!("{ANSWER_NAME} in the uri of a database is not a number of seconds"))
            .with("value", value)
            .hint("Write a number above 0, such as 60")
    })
}

/// What the client's errors hide behind "db error" and the like.
fn reason(error: &tokio_postgres::Error) -> String {
    let mut last: &dyn std::error::Error = error;
    while let Some(source) = last.source() {
        last = source;
    }
    last.to_string()
}

/// A statement's text as PostgreSQL numbers parameters.
fn numbered(statement: &Statement) -> String {
    statement.text.replace('?', "$")
}

fn values(statement: &Statement) -> Vec<&(dyn ToSql + Sync)> {
    statement.values.iter().map(|v| v as &(dyn ToSql + Sync)).collect()
}

impl Database for Postgres {
    fn query(&self, statement: &Statement) -> Result<Vec<TextRow>> {
        let (database, statement) = (self.clone(), statement.clone());
        wait(async move { database.rows(&statement).await })?
    }

    fn execute(&self, statements: &[Statement]) -> Result<Vec<u64>> {
        self.changed(statements, |_| true).map(|(_, counts)| counts)
    }

    fn execute_if_each_changes(&self, statements: &[Statement]) -> Result<bool> {
        self.changed(statements, |count| count > 0).map(|(is_committed, _)| is_committed)
    }

    fn columns(&self, table: &str) -> Result<Vec<String>> {
        let text = "SELECT column_name::text FROM information_schema.columns \
                    WHERE table_name = ?1 AND table_schema = ANY (current_schemas(false))";
        let rows = self.query(&Statement::new(text, &[table]))?;
        Ok(rows.into_iter().filter_map(|row| row.into_iter().next().flatten()).collect())
    }
}

/// The name of a host, or the folder of its socket.
fn host_text(host: &Host) -> String {
    match host {
        Host::Tcp(name) => name.clone(),
        #[cfg(unix)]
        Host::Unix(folder) => folder.display().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn a_silent_server_is_given_up() {
        let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = server.local_addr().unwrap().port();
        let uri = format!("postgresql://u:hush@127.0.0.1:{port}/d?connect_timeout=1&sslmode=disable");
        let silent = Postgres::new(&uri, None, None).unwrap();
        let error = silent.query(&Statement::new("SELECT 1", &[])).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Store);
        let text = error.to_string();
        assert!(
            text.contains("within 1 seconds") && text.contains("connect_timeout") && !text.contains("hush"),
            "{text}"
        );
        let patient = Postgres::new(&uri.replace("timeout=1", "timeout=3600"), None, None).unwrap();
        let stopped =
            crate::parallel::Cancellation::after(0).scope(|| patient.execute(&[Statement::new("SELECT 1", &[])]));
        assert_eq!(stopped.unwrap_err().message(), "stopped");
    }

    #[test]
    fn the_limit_of_answers_is_set_by_the_uri() {
        let limit = |uri: &str| Postgres::new(uri, None, None).map(|p| p.answer.as_secs_f64());
        assert_eq!(limit("postgresql://h/d").unwrap(), 60.0);
        assert_eq!(limit("postgresql://h/d?socketTimeout=2.5&application_name=x").unwrap(), 2.5);
        for wrong in ["0", "-1", "soon", "NaN", "1e300"] {
            assert_eq!(
                limit(&format!("postgresql://h/d?socketTimeout={wrong}")).unwrap_err().kind(),
                ErrorKind::InvalidInput
            );
        }
    }
}
