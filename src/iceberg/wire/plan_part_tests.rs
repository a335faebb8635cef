use super::*;
use crate::format::request::ScanRequest;
use crate::iceberg::scan::plan_parts::tests::table;

#[test]
fn other_json_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let scan = table(folder.path(), 1, 2).scan(ScanRequest::default()).unwrap();
    let part = scan.plan_parts(1, 0).unwrap().remove(0);
    let good: Json = serde_json::from_str(&part.to_json()).unwrap();
    for key in good.as_object().unwrap().keys() {
        let mut bad = good.clone();
        bad.as_object_mut().unwrap().remove(key);
        assert!(IcebergPlanPart::from_json(&bad.to_string()).is_err(), "without {key}");
        bad[key] = json!("x");
        assert!(IcebergPlanPart::from_json(&bad.to_string()).is_err(), "{key} is text");
    }
    for text in ["", "[]", "{}", "1"] {
        assert!(IcebergPlanPart::from_json(text).is_err());
    }
}
