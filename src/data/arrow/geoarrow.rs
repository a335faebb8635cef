//! Geometry and geography columns as GeoArrow's extension type of WKB.
//!
//! Source: Iceberg specification, "CRS" and "Edge-Interpolation Algorithm"; GeoArrow, "Extension type metadata".

use serde_json::{Value as Json, json};

use crate::types::PrimitiveType;

/// The extension type's name.
pub(crate) const WKB_EXTENSION: &str = "geoarrow.wkb";

/// The reference system of a column that does not name one.
const DEFAULT_CRS: &str = "OGC:CRS84";

/// The extension type's metadata for a column; `None` if it is not geometry or geography. A reference system that is
/// the name of a table property (`projjson:name`) stays such a name.
pub(crate) fn metadata(ty: &PrimitiveType) -> Option<String> {
    let (crs, edges) = match ty {
        PrimitiveType::Geometry { crs } => (crs, None),
        PrimitiveType::Geography { crs, algorithm } => (crs, Some(algorithm.as_deref().unwrap_or("spherical"))),
        _ => return None,
    };
    let crs = crs.as_deref().unwrap_or(DEFAULT_CRS);
    let mut out = match crs.split_once(':') {
        Some((context, id)) if context.eq_ignore_ascii_case("srid") => json!({"crs": id, "crs_type": "srid"}),
        Some((context, _)) if context.eq_ignore_ascii_case("projjson") => json!({"crs": crs}),
        Some(_) => json!({"crs": crs, "crs_type": "authority_code"}),
        None => json!({"crs": crs}),
    };
    if let (Some(edges), Some(members)) = (edges, out.as_object_mut()) {
        members.insert("edges".into(), edges.into());
    }
    Some(out.to_string())
}

/// The table's type for a column with this metadata; `None` if it names no reference system. `None` too if it defines
/// one in full: a table's schema has no place for that.
pub(crate) fn table_type(metadata: &str) -> Option<PrimitiveType> {
    let metadata: Json = serde_json::from_str(metadata).ok()?;
    let text = |key: &str| metadata.get(key).and_then(Json::as_str);
    let id = |key: &str| match metadata.get("crs")?.get("id")?.get(key)? {
        Json::String(text) => Some(text.clone()),
        Json::Number(number) => Some(number.to_string()),
        _ => None,
    };
    let crs = match (text("crs"), text("crs_type")) {
        (Some(crs), Some("srid")) => format!("srid:{crs}"),
        (Some(_), Some("wkt2:2019" | "projjson")) => return None,
        (Some(crs), _) => crs.to_owned(),
        // The definition is registered under a name.
        (None, _) => format!("{}:{}", id("authority")?, id("code")?),
    };
    if crs.contains([',', '(', ')', '{']) {
        return None;
    }
    let crs = Some(crs).filter(|crs| crs != DEFAULT_CRS);
    Some(match text("edges") {
        None | Some("planar") => PrimitiveType::Geometry { crs },
        Some("spherical") => PrimitiveType::Geography { crs, algorithm: None },
        // The algorithm is the second parameter, so it cannot be given without the first.
        Some(edges @ ("vincenty" | "thomas" | "andoyer" | "karney")) => PrimitiveType::Geography {
            crs: Some(crs.unwrap_or_else(|| DEFAULT_CRS.to_owned())),
            algorithm: Some(edges.to_owned()),
        },
        Some(_) => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn geography(crs: Option<&str>, algorithm: Option<&str>) -> PrimitiveType {
        PrimitiveType::Geography { crs: crs.map(str::to_owned), algorithm: algorithm.map(str::to_owned) }
    }

    #[test]
    fn types_survive_the_way_there_and_back() {
        let geometry = |crs: Option<&str>| PrimitiveType::Geometry { crs: crs.map(str::to_owned) };
        for (ty, text) in [
            (geometry(None), r#"{"crs":"OGC:CRS84","crs_type":"authority_code"}"#),
            (geometry(Some("EPSG:4326")), r#"{"crs":"EPSG:4326","crs_type":"authority_code"}"#),
            (geometry(Some("srid:0")), r#"{"crs":"0","crs_type":"srid"}"#),
            (geometry(Some("projjson:prop")), r#"{"crs":"projjson:prop"}"#),
            (geography(None, None), r#"{"crs":"OGC:CRS84","crs_type":"authority_code","edges":"spherical"}"#),
            (
                geography(Some("OGC:CRS84"), Some("karney")),
                r#"{"crs":"OGC:CRS84","crs_type":"authority_code","edges":"karney"}"#,
            ),
        ] {
            assert_eq!(metadata(&ty).as_deref(), Some(text));
            assert_eq!(table_type(text), Some(ty));
        }
        assert_eq!(metadata(&PrimitiveType::Binary), None);
    }

    #[test]
    fn a_registered_definition_is_named() {
        let text =
            r#"{"crs": {"type": "GeographicCRS", "id": {"authority": "EPSG", "code": 4979}}, "edges": "vincenty"}"#;
        assert_eq!(table_type(text), Some(geography(Some("EPSG:4979"), Some("vincenty"))));
        for text in ["", "{}", "{\"crs\": {}}", r#"{"crs": "GEOGCRS[]", "crs_type": "wkt2:2019"}"#] {
            assert_eq!(table_type(text), None, "{text}");
        }
    }
}
