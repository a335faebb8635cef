use serde_json::Value as Json;

use super::*;
use crate::paimon::manifest::entries::ADD;
use crate::paimon::spec::stats::SimpleStats;

fn file(level: i32, size: i64, sequence: (i64, i64)) -> FileEntry {
    let none = || SimpleStats { min: Vec::new(), max: Vec::new(), null_counts: None };
    FileEntry {
        kind: ADD,
        partition: [0; 12].as_slice().into(),
        bucket: 0,
        total_buckets: 1,
        file_name: format!("data-{level}-{}.parquet", sequence.1),
        file_size: size,
        row_count: 1,
        min_key: Vec::new(),
        max_key: Vec::new(),
        key_stats: none(),
        value_stats: none(),
        min_sequence_number: sequence.0,
        max_sequence_number: sequence.1,
        schema_id: 0,
        level,
        extra_files: Vec::new(),
        creation_time_ms: None,
        delete_row_count: Some(0),
        embedded_index: None,
        file_source: None,
        value_stats_cols: None,
        external_path: None,
        first_row_id: None,
        write_cols: None,
        unknown: None,
    }
}

fn rules() -> PickRules {
    PickRules::new(&Options(&Default::default())).unwrap()
}

#[test]
fn java_picks_the_same() {
    let cases: Json = serde_json::from_str(include_str!("../../../tests/data/paimon/compact_picks.json")).unwrap();
    for case in cases.as_array().unwrap() {
        let number = |key: &str| case[key].as_i64();
        let rules = PickRules {
            size_amplification: number("amplification").unwrap(),
            size_ratio: number("ratio").unwrap(),
            trigger: number("trigger").unwrap() as usize,
            total_bytes: number("total"),
            incremental_bytes: number("incremental"),
            up_from_0: case["up"].as_bool().unwrap(),
            ..rules()
        };
        let runs = case["runs"].as_array().unwrap().iter().enumerate().map(|(at, run)| LevelRun {
            level: run[0].as_i64().unwrap() as i32,
            bytes: run[1].as_i64().unwrap(),
            files: vec![at],
        });
        let levels = Levels { runs: runs.collect(), count: number("levels").unwrap() as i32 };
        let picked = rules.minor(&levels).map(|unit| (i64::from(unit.level), unit.files.len() as i64));
        let java = case["picked"].as_array().map(|p| (p[0].as_i64().unwrap(), p[1].as_i64().unwrap()));
        assert_eq!(picked, java, "{case}");
    }
}

#[test]
fn runs_are_ordered_by_age_and_level() {
    let files =
        [file(2, 5, (0, 9)), file(0, 1, (20, 22)), file(0, 2, (23, 29)), file(2, 7, (0, 8)), file(0, 3, (19, 22))];
    let levels = Levels::new(&files, 3);
    let runs: Vec<(i32, i64, Vec<usize>)> = levels.runs.into_iter().map(|r| (r.level, r.bytes, r.files)).collect();
    assert_eq!(runs, [(0, 2, vec![2]), (0, 3, vec![4]), (0, 1, vec![1]), (2, 12, vec![0, 3])]);
    assert_eq!(Levels::new(&files, 1).count, 3);
    assert_eq!((Levels::new(&[], 6).top(), Levels::new(&[], 6).highest()), (5, -1));
}

#[test]
fn a_bucket_on_the_highest_level_is_done() {
    let top = [file(5, 5, (0, 9)), file(5, 5, (10, 12))];
    let levels = Levels::new(&top, 6);
    assert_eq!(rules().full(&levels, |_| false), None);
    let unit = rules().full(&levels, |at| at == 1).unwrap();
    assert_eq!((unit.level, unit.files, unit.each), (5, vec![1], true));
    let all = PickRules { rewrites_all: true, ..rules() };
    assert_eq!(all.full(&levels, |_| false).unwrap().files, [0, 1]);
    let unit = rules().full(&Levels::new(&[file(0, 5, (0, 9))], 6), |_| false).unwrap();
    assert_eq!((unit.level, unit.files, unit.each), (5, vec![0], false));
    assert_eq!(rules().full(&Levels::new(&[], 6), |_| true), None);
}
