use super::*;
use crate::error::ErrorKind;
use crate::store::place::{StoreBucket, place};

const EVIL: &str = "https://evil.example";

fn texts(given: &[(&str, &str)]) -> BTreeMap<String, String> {
    given.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect()
}

fn options(given: &[(&str, &str)]) -> StoreOptions {
    StoreOptions::new(&texts(given)).unwrap()
}

fn of_server(given: &[(&str, &str)]) -> StoreOptions {
    StoreOptions::of_server(&texts(given))
}

fn trusted(given: &[(&str, &str)]) -> TrustedHosts {
    TrustedHosts::of(&texts(given)).unwrap()
}

fn bucket(service: Service) -> StoreBucket {
    let uri = match service {
        Service::S3 => "s3://b/k",
        Service::Gcs => "gs://b/k",
        _ => "abfss://c@acct.dfs.core.windows.net/k",
    };
    place(uri).unwrap().bucket
}

/// Whether the client of a service may be made with these options.
fn checked(service: Service, options: &StoreOptions, by_others: bool) -> Result<()> {
    let account = bucket(service).account;
    check_endpoint(service, options, &options.settings(service, account.as_deref()).unwrap(), by_others)
}

/// Whether the server's options are used together with those of the user.
fn mixed(service: Service, own: &[(&str, &str)], server: &[(&str, &str)]) -> Result<()> {
    checked(service, &options(own).replaced_by_server(of_server(server), &trusted(&[])), false)
}

#[test]
fn secrets_stay_away_from_endpoints_of_the_server() {
    let keys = [("s3.access-key-id", "k"), ("s3.secret-access-key", "s")];
    let session = [keys[0], keys[1], ("s3.session-token", "t")];
    let key = ("adls.account-key", "a2V5");
    for (service, own, endpoint, is_allowed) in [
        // A key signs. It is not sent.
        (Service::S3, &keys[..], ("s3.endpoint", EVIL), true),
        (Service::S3, &session[..], ("s3.endpoint", EVIL), false),
        (Service::S3, &session[..], ("aws_endpoint_url", EVIL), false),
        (Service::S3, &session[..], ("s3.endpoint", "https://s3.eu-west-1.amazonaws.com"), true),
        (Service::S3, &session[..], ("s3.endpoint", "https://x.execute-api.eu-west-1.amazonaws.com"), false),
        (Service::S3, &[("s3.anonymous", "true")][..], ("s3.endpoint", EVIL), true),
        (Service::S3, &[][..], ("s3.endpoint", EVIL), false),
        (Service::Gcs, &[("gcs.oauth2.token", "t")][..], ("gcs.service.host", EVIL), false),
        (Service::Gcs, &[("gcs.oauth2.token", "t")][..], ("google_base_url", EVIL), false),
        (Service::Gcs, &[][..], ("gcs.service.host", EVIL), false),
        (Service::Gcs, &[][..], ("gcs.service.host", "https://storage.me-central2.rep.googleapis.com"), true),
        (Service::Gcs, &[("gcs.no-auth", "true")][..], ("gcs.service.host", EVIL), true),
        (Service::Azure, &[key][..], ("adls.account-host", "acct.evil.example"), true),
        (Service::Azure, &[("adls.sas-token", "sv=1")][..], ("adls.account-host", "acct.evil.example"), false),
        (Service::Azure, &[("adls.token", "t")][..], ("adls.blob-storage-authority", "evil.example"), false),
        (Service::Azure, &[("adls.token", "t")][..], ("adls.blob-storage-authority", ".blob.evil.example"), false),
        (Service::Azure, &[("adls.token", "t")][..], ("adls.blob-storage-authority", ".blob.core.windows.net"), true),
        (Service::Azure, &[("adls.token", "t")][..], ("adls.account-host", "acct.blob.core.windows.net"), true),
        (Service::Azure, &[][..], ("azure_storage_endpoint", EVIL), false),
        (
            Service::Azure,
            &[][..],
            ("adls.connection-string", "AccountName=a;BlobEndpoint=https://a.evil.example"),
            false,
        ),
    ] {
        let found = mixed(service, own, &[endpoint]);
        assert_eq!(found.is_ok(), is_allowed, "{service:?} {own:?} {endpoint:?}");
        if let Err(error) = found {
            assert_eq!(error.kind(), ErrorKind::PermissionDenied);
            let text = format!("{error} {:?}", error.hint_text());
            assert!(text.contains("evil.example") || text.contains("execute-api"), "{text}");
            assert!(text.contains("frazil.trusted-hosts") && text.contains(endpoint.0), "{text}");
        }
    }
}

#[test]
fn the_server_s_own_credentials_go_where_it_wants() {
    for (service, lent) in [
        (
            Service::S3,
            &[
                ("s3.endpoint", EVIL),
                ("s3.access-key-id", "k"),
                ("s3.secret-access-key", "s"),
                ("s3.session-token", "t"),
            ][..],
        ),
        (Service::S3, &[("s3.endpoint", EVIL), ("s3.anonymous", "true")][..]),
        (Service::Gcs, &[("gcs.service.host", EVIL), ("gcs.oauth2.token", "t")][..]),
        (Service::Azure, &[("adls.account-host", "evil.example"), ("adls.sas-token.acct.x", "sv=1")][..]),
    ] {
        let own = options(&[("s3.session-token", "own"), ("gcs.oauth2.token", "own"), ("adls.token", "own")]);
        let all = own.replaced_by_server(of_server(lent), &trusted(&[]));
        assert!(checked(service, &all, false).is_ok() && !all.as_map().contains_key(ENDPOINTS_OF_SERVER), "{lent:?}");
    }
    // Parts of credentials, or the wish not to be anonymous, leave the machine's in place.
    for parts in [("s3.session-token", "t"), ("s3.anonymous", "false"), ("s3.access-key-id", "k")] {
        assert!(mixed(Service::S3, &[], &[("s3.endpoint", EVIL), parts]).is_err(), "{parts:?}");
    }
    // Those of another service don't count.
    assert!(mixed(Service::Gcs, &[], &[("gcs.service.host", EVIL), ("adls.sas-token", "sv=1")]).is_err());
}

#[test]
fn later_layers_decide() {
    let hosts = trusted(&[]);
    let session = options(&[("s3.access-key-id", "k"), ("s3.secret-access-key", "s"), ("s3.session-token", "t")]);
    let named = session.clone().replaced_by_server(of_server(&[("s3.endpoint", EVIL)]), &hosts);
    assert!(checked(Service::S3, &named, false).is_err());
    // A table that lends keys may be read there.
    let lent = of_server(&[("s3.access-key-id", "l"), ("s3.secret-access-key", "l")]);
    assert!(checked(Service::S3, &named.clone().replaced_by_server(lent, &hosts), false).is_ok());
    // Other options of a table change nothing.
    let other = named.clone().replaced_by_server(of_server(&[("s3.region", "eu-west-1")]), &hosts);
    assert!(checked(Service::S3, &other, false).is_err());
    // The same endpoint, from somebody who does not know whom the user trusts.
    let again = named.replaced_by_server(of_server(&[("s3.endpoint", EVIL)]), &TrustedHosts::default());
    assert!(checked(Service::S3, &again, false).is_err());
    // Whoever else proves who asks.
    let keys = options(&[("s3.access-key-id", "k"), ("s3.secret-access-key", "s")]);
    let named = keys.replaced_by_server(of_server(&[("s3.endpoint", EVIL)]), &hosts);
    assert!(checked(Service::S3, &named, false).is_ok() && checked(Service::S3, &named, true).is_err());
}

#[test]
fn defaults_give_way_to_the_user() {
    let hosts = trusted(&[]);
    let session = options(&[("s3.access-key-id", "k"), ("s3.secret-access-key", "s"), ("s3.session-token", "t")]);
    let lent = [("s3.endpoint", EVIL), ("s3.access-key-id", "l"), ("s3.secret-access-key", "l")];
    let all = session.completed_by_server(of_server(&lent), &hosts);
    assert_eq!(all.as_map()["s3.access-key-id"], "k");
    assert!(checked(Service::S3, &all, false).is_err());
    let own = options(&[("aws_endpoint_url", "https://own.example")]);
    let all = own.completed_by_server(of_server(&[("s3.endpoint", EVIL), ("s3.region", "r")]), &hosts);
    assert_eq!(all.as_map().keys().collect::<Vec<_>>(), ["aws_endpoint_url", "s3.region"]);
    let all = StoreOptions::default().completed_by_server(of_server(&lent), &hosts);
    assert!(checked(Service::S3, &all, false).is_ok() && all.as_map().len() == 3);
}

#[test]
fn the_user_may_name_the_endpoint() {
    let token = [("gcs.oauth2.token", "t")];
    for given in [
        ("frazil.trusted-hosts", "evil.example"),
        ("uri", "https://evil.example/catalog"),
        ("gcs.service.host", "https://evil.example"),
    ] {
        let all = options(&token).replaced_by_server(of_server(&[("gcs.service.host", EVIL)]), &trusted(&[given]));
        assert!(checked(Service::Gcs, &all, false).is_ok(), "{given:?}");
    }
    let own = options(&[token[0], ("gcs.service.host", EVIL)]);
    let all = own.replaced_by_server(of_server(&[("gcs.service.host", EVIL)]), &trusted(&[]));
    assert!(checked(Service::Gcs, &all, false).is_ok());
}

#[test]
fn hosts_of_the_services() {
    for (host, expected) in [
        ("s3.amazonaws.com", true),
        ("s3.dualstack.us-east-1.amazonaws.com", true),
        ("b.s3.cn-north-1.amazonaws.com.cn", true),
        ("bucket.vpce-1a2b.s3.us-east-1.vpce.amazonaws.com", true),
        ("b.s3express-use1-az4.us-east-1.amazonaws.com", true),
        ("s3-evil-123.us-east-1.elb.amazonaws.com", false),
        ("s3.us-east-1.elb.amazonaws.com", false),
        ("abc.execute-api.us-east-1.amazonaws.com", false),
        ("s3.us-east-1.amazonaws.com.evil.example", false),
        ("evil.example", false),
    ] {
        assert_eq!(is_of_service(Service::S3, &format!("https://{host}")), expected, "{host}");
    }
    assert!(!is_of_service(Service::S3, "http://s3.us-east-1.amazonaws.com"));
    assert!(!is_of_service(Service::Gcs, "https://googleapis.com.evil.example"));
    assert!(!is_of_service(Service::Azure, "https://a.blob.core.windows.net.evil.example"));
}

#[test]
fn a_server_does_not_take_the_encryption_from_the_user_s_host() {
    let own = options(&[("adls.token", "t"), ("adls.blob-storage-authority", ".blob.example")]);
    let plain = ("adls.blob-storage-scheme", "http");
    let endpoint = |options: &StoreOptions| {
        let settings = options.settings(Service::Azure, Some("acct")).unwrap();
        settings.into_iter().find(|(name, _)| name == "azure_storage_endpoint").map(|(_, url)| url)
    };
    let found = own.clone().replaced_by_server(of_server(&[plain]), &trusted(&[]));
    assert_eq!(endpoint(&found).as_deref(), Some("https://acct.blob.example"));
    let lends = own.replaced_by_server(of_server(&[plain, ("adls.account-key", "a2V5")]), &trusted(&[]));
    assert_eq!(endpoint(&lends).as_deref(), Some("http://acct.blob.example"));
}
