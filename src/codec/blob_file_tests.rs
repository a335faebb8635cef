use super::*;
use crate::error::ErrorKind;

/// A file of 'hello', null, no bytes, a placeholder, and three times 00ff, as pypaimon 2.1 writes it.
const FILE: &str = "cf114e5868656c6c6f1500000000000000c8f6a751cf114e581000000000000000537fdf03cf114e5800ff00ff00ff16000000000000\
                    00f5acd78e2a2b2223300500000001";

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

/// The places of the values of a file with this number of rows.
fn index(file: &[u8], rows: u64) -> Result<Vec<BlobPlace>> {
    let length = index_bytes(file, file.len() as u64)? as usize;
    let end = file.len() - TAIL_BYTES;
    BlobIndex::decode(file[end - length..end].to_vec(), (end - length) as u64, rows)?.collect()
}

#[test]
fn values_are_where_pypaimon_wrote_them() {
    let file = bytes(FILE);
    let places = index(&file, 5).unwrap();
    let record = |range: &Range<u64>| payload(&file[range.start as usize..range.end as usize]).unwrap().to_vec();
    let values: Vec<String> = places
        .iter()
        .map(|place| match place {
            BlobPlace::Null => "null".to_owned(),
            BlobPlace::Placeholder => "placeholder".to_owned(),
            BlobPlace::Record(range) => format!("{:?}", record(range)),
        })
        .collect();
    assert_eq!(values, ["[104, 101, 108, 108, 111]", "null", "[]", "placeholder", "[0, 255, 0, 255, 0, 255]"]);
    let value = places[0].value().unwrap();
    assert_eq!(&file[value.start as usize..value.end as usize], b"hello");
    assert_eq!(places[1].value(), None);
}

#[test]
fn values_are_written_as_pypaimon_does() {
    let values = [Some(&b"hello"[..]), None, Some(&[]), None, Some(&[0, 255, 0, 255, 0, 255])];
    let mut lengths = Vec::new();
    let mut file = Vec::new();
    for value in values {
        let record = BlobRecord::of(value);
        file.extend([&record.before[..], value.unwrap_or_default(), &record.after[..]].concat());
        lengths.push(record.length);
    }
    lengths[3] = PLACEHOLDER;
    file.extend(index_and_tail(&lengths).unwrap());
    assert_eq!(file, bytes(FILE));
}

proptest::proptest! {
    #[test]
    fn values_come_back(values in proptest::collection::vec(proptest::option::of(proptest::collection::vec(0u8.., 0..300)), 0..40)) {
        let (mut file, mut lengths) = (Vec::new(), Vec::new());
        for value in &values {
            let record = BlobRecord::of(value.as_deref());
            file.extend([&record.before[..], value.as_deref().unwrap_or_default(), &record.after[..]].concat());
            lengths.push(record.length);
        }
        file.extend(index_and_tail(&lengths).unwrap());
        let places = index(&file, values.len() as u64).unwrap();
        let found: Vec<Option<Vec<u8>>> = places
            .iter()
            .map(|place| match place {
                BlobPlace::Record(record) => {
                    Some(payload(&file[record.start as usize..record.end as usize]).unwrap().to_vec())
                }
                _ => None,
            })
            .collect();
        proptest::prop_assert_eq!(found, values);
    }
}

#[test]
fn a_damaged_file_is_refused() {
    let file = bytes(FILE);
    for end in 0..file.len() {
        let e = index(&file[..end], 5).unwrap_err();
        assert!(matches!(e.kind(), ErrorKind::CorruptTable | ErrorKind::Unsupported), "{end}: {e}");
    }
    let list = file.len() - TAIL_BYTES - 5;
    for (at, value) in [(list, 0x2c), (list, 0x08), (list + 1, 0x2a), (list + 4, 0x2e), (list + 4, 0x7f)] {
        let mut damaged = file.clone();
        damaged[at] = value;
        assert_eq!(index(&damaged, 5).unwrap_err().kind(), ErrorKind::CorruptTable, "{at}");
    }
    for rows in [0, 1, 4, 6, u64::MAX] {
        assert_eq!(index(&file, rows).unwrap_err().kind(), ErrorKind::CorruptTable, "{rows}");
    }
    assert!(check_list_bytes(50, 5).is_ok() && check_list_bytes(51, 5).is_err() && check_list_bytes(4, 5).is_err());
    // A list of four gigabytes is not read.
    let mut long = file.clone();
    long[file.len() - TAIL_BYTES..file.len() - 1].fill(0xff);
    assert_eq!(index(&long, 5).unwrap_err().kind(), ErrorKind::CorruptTable);
    long[file.len() - 1] = 2;
    assert_eq!(index(&long, 5).unwrap_err().kind(), ErrorKind::Unsupported);
    for at in 0..21 {
        let mut record = file[..21].to_vec();
        record[at] ^= 1;
        assert_eq!(payload(&record).unwrap_err().kind(), ErrorKind::CorruptTable, "{at}");
        assert!(payload(&file[..at]).is_err());
    }
}

#[test]
fn a_descriptor_has_the_bytes_of_java() {
    // `BlobDescriptor("/path/to/blob", 100, 200).serialize()` of Java: version 2, "BLOBDESC" in little endian.
    let wanted = "02435345 44424f4c42 0d000000 2f706174682f746f2f626c6f62 6400000000000000 c800000000000000";
    let found = descriptor("/path/to/blob", &(100..300));
    assert_eq!(found, bytes(&wanted.replace(' ', "")));
    assert!(is_descriptor(&found) && is_descriptor(&found[..9]));
    assert!(!is_descriptor(&found[..8]) && !is_descriptor(b"a picture of 9 bytes or more"));
}
