//! Which keys are used, by options, environment and files.

use super::*;

struct Given {
    folder: tempfile::TempDir,
    environment: Vec<(&'static str, &'static str)>,
}

impl Given {
    fn new(config: &str, credentials: &str, environment: &[(&'static str, &'static str)]) -> Given {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("config"), config).unwrap();
        std::fs::write(folder.path().join("credentials"), credentials).unwrap();
        Given { folder, environment: environment.to_vec() }
    }

    fn source(&self, options: &[(&str, &str)]) -> Result<Option<(Origin, Option<String>)>> {
        let at = |name: &str| self.folder.path().join(name);
        let places = AwsPlaces { config: at("config"), credentials: at("credentials"), sign_on: at("sso") };
        let options = options.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
        let environment =
            |name: &str| self.environment.iter().find(|(known, _)| *known == name).map(|(_, value)| value.to_string());
        let found = source(&StoreOptions::new(&options).unwrap(), &places, &environment)?;
        Ok(found.map(|(source, region)| (source.origin, region)))
    }

    fn id(&self, options: &[(&str, &str)]) -> Option<String> {
        match self.source(options).unwrap() {
            Some((Origin::Keys(keys), _)) => Some(keys.id),
            None => None,
            Some((other, _)) => panic!("{other:?}"),
        }
    }
}

const KEYS: [(&str, &str); 2] = [("s3.access-key-id", "given"), ("s3.secret-access-key", "s")];
const FILES: &str = "[default]\naws_access_key_id=default\naws_secret_access_key=s\n\
                     [dev]\naws_access_key_id=dev\naws_secret_access_key=s\n";

#[test]
fn a_named_profile_comes_first() {
    let given = Given::new("[profile dev]\nregion=eu-west-1\n", FILES, &[("AWS_ACCESS_KEY_ID", "environment")]);
    for name in ["s3.profile-name", "client.profile-name"] {
        let (origin, region) = given.source(&[(name, "dev")]).unwrap().unwrap();
        assert!(matches!(origin, Origin::Keys(keys) if keys.id == "dev"));
        assert_eq!(region.as_deref(), Some("eu-west-1"));
    }
    // Keys of the options and the environment are left to the client.
    assert_eq!((given.id(&KEYS), given.id(&[])), (None, None));
    let unknown = given.source(&[("s3.profile-name", "prod")]).unwrap_err();
    assert_eq!((unknown.kind(), unknown.hint_text().is_some()), (crate::error::ErrorKind::NotFound, true));
}

#[test]
fn the_environment_names_a_profile() {
    let named = Given::new("", FILES, &[("AWS_PROFILE", "dev")]);
    assert_eq!((named.id(&[]), named.id(&KEYS)), (Some("dev".to_owned()), None));
    assert_eq!(Given::new("", FILES, &[]).id(&[]), Some("default".to_owned()));
    assert_eq!(Given::new("", "", &[]).id(&[]), None);
    assert_eq!(Given::new("", FILES, &[("AWS_WEB_IDENTITY_TOKEN_FILE", "/t")]).id(&[]), None);
}

#[test]
fn profiles_lead_to_keys() {
    let config = "[profile role]\nrole_arn=arn:r\nsource_profile=dev\nexternal_id=e\nduration_seconds=900\n\
                  [profile chain]\nrole_arn=arn:c\nsource_profile=role\n\
                  [profile machine]\nrole_arn=arn:m\ncredential_source=Ec2InstanceMetadata\n\
                  [profile web]\nrole_arn=arn:w\nweb_identity_token_file=/t\n\
                  [profile process]\ncredential_process=/opt/keys --x\n\
                  [profile corp]\nsso_session=corp\nsso_account_id=1\nsso_role_name=Admin\n\
                  [sso-session corp]\nsso_start_url=https://corp.example/start\nsso_region=us-east-1\n\
                  [profile loop]\nrole_arn=arn:l\nsource_profile=loop2\n\
                  [profile loop2]\nrole_arn=arn:l\nsource_profile=loop\n\
                  [profile empty]\nrole_arn=arn:e\n[profile code]\nrole_arn=arn:e\nmfa_serial=m\n";
    let given = Given::new(config, FILES, &[]);
    let origin = |name: &str| given.source(&[("s3.profile-name", name)]).map(|found| found.unwrap().0);
    let Origin::Role(role, from) = origin("role").unwrap() else { panic!() };
    assert_eq!((role.external_id.as_deref(), role.seconds.as_deref()), (Some("e"), Some("900")));
    assert!(matches!(*from, Origin::Keys(keys) if keys.id == "dev"));
    assert!(matches!(origin("chain").unwrap(), Origin::Role(_, from) if matches!(*from, Origin::Role(..))));
    assert!(matches!(origin("machine").unwrap(), Origin::Role(_, from) if *from == Origin::Environment));
    assert!(matches!(origin("web").unwrap(), Origin::TokenFile(..)));
    assert_eq!(origin("process").unwrap(), Origin::Program("/opt/keys --x".to_owned()));
    assert!(matches!(origin("corp").unwrap(), Origin::SignOn(s) if s.start_url == "https://corp.example/start"));
    for wrong in ["loop", "empty", "code"] {
        assert!(origin(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn a_role_is_assumed_with_the_keys_at_hand() {
    let given = Given::new("", FILES, &[]);
    let role = |options: &[(&str, &str)]| match given.source(options).unwrap().unwrap().0 {
        Origin::Role(role, from) => (role, *from),
        other => panic!("{other:?}"),
    };
    let (found, from) = role(&[KEYS[0], KEYS[1], ("s3.role-arn", "arn:r"), ("s3.role-session-name", "job")]);
    assert_eq!((found.arn.as_str(), found.session.as_deref()), ("arn:r", Some("job")));
    assert!(matches!(from, Origin::Keys(keys) if keys.id == "given"));
    let (_, from) = role(&[("client.role-arn", "arn:r"), ("client.profile-name", "dev")]);
    assert!(matches!(from, Origin::Keys(keys) if keys.id == "dev"));
    let machine = Given::new("", "", &[]).source(&[("client.assume-role.arn", "arn:r")]).unwrap().unwrap().0;
    assert!(matches!(machine, Origin::Role(_, from) if *from == Origin::Environment));
}
