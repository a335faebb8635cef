//! PostgreSQL servers.
//!
//! The client runs its own event loop inside each call, on the calling thread.

use std::time::Duration;

use postgres::config::SslMode;
use postgres::error::SqlState;
use postgres::types::ToSql;
use postgres::{Client, Config};

use super::postgres_tls::Tls;
use super::{Database, Statement, TextRow};
use crate::error::{Error, Result};

/// How long to wait for the server unless the URI says `connect_timeout=SECONDS`.
const CONNECT: Duration = Duration::from_secs(15);

/// A database of a server.
pub(super) struct Postgres {
    config: Config,
    tls: Tls,
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
        let (tls, uri) = Tls::of_uri(uri)?;
        let mut config: Config = uri.parse().map_err(|e: postgres::Error| {
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
                config.host(&address.to_string());
            }
        }
        Ok(Postgres { config, tls })
    }

    fn place(&self) -> String {
        let hosts: Vec<String> = self.config.get_hosts().iter().map(|h| format!("{h:?}")).collect();
        format!("{} at {}", self.config.get_dbname().unwrap_or("the default database"), hosts.join(", "))
    }

    fn open(&self) -> Result<Client> {
        let connector = self.tls.connector();
        let mut connected = self.config.connect(connector.clone());
        if connected.is_err() && self.tls.may_do_without(&connector) {
            // Who only prefers TLS takes a plain connection where none comes about, as libpq does.
            connected = self.config.clone().ssl_mode(SslMode::Disable).connect(self.tls.connector());
        }
        connected.map_err(|e| {
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

    fn failed(&self, error: postgres::Error) -> Error {
        let kind = match error.code() {
            Some(c) if *c == SqlState::UNIQUE_VIOLATION => Error::already_exists("the row is in the database already"),
            Some(c) if *c == SqlState::INSUFFICIENT_PRIVILEGE => Error::denied("the database refused the statement"),
            _ => Error::store("the database failed"),
        };
        kind.with("database", self.place()).with("reason", reason(&error)).because(error)
    }
}

/// What the client's errors hide behind "db error" and the like.
fn reason(error: &postgres::Error) -> String {
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
        let mut client = self.open()?;
        let rows = client.query(&numbered(statement), &values(statement)).map_err(|e| self.failed(e))?;
        let texts = |r: &postgres::Row| (0..r.len()).map(|i| r.try_get::<_, Option<String>>(i)).collect();
        rows.iter().map(texts).collect::<Result<Vec<TextRow>, postgres::Error>>().map_err(|e| self.failed(e))
    }

    fn execute(&self, statements: &[Statement]) -> Result<Vec<u64>> {
        let mut client = self.open()?;
        let mut transaction = client.transaction().map_err(|e| self.failed(e))?;
        let mut counts = Vec::with_capacity(statements.len());
        for statement in statements {
            let count = transaction.execute(&numbered(statement), &values(statement));
            counts.push(count.map_err(|e| self.failed(e))?);
        }
        transaction.commit().map_err(|e| match e.as_db_error() {
            Some(_) => self.failed(e),
            None => Error::state_unknown("it is unknown whether the database committed the transaction")
                .with("database", self.place())
                .because(e),
        })?;
        Ok(counts)
    }

    fn columns(&self, table: &str) -> Result<Vec<String>> {
        let text = "SELECT column_name::text FROM information_schema.columns \
                    WHERE table_name = ?1 AND table_schema = ANY (current_schemas(false))";
        let rows = self.query(&Statement::new(text, &[table]))?;
        Ok(rows.into_iter().filter_map(|row| row.into_iter().next().flatten()).collect())
    }
}
