use frazil::table::{Table, ScanRequest};
use std::time::Instant;
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let filter = a.get(2).filter(|f| !f.is_empty()).map(|f| frazil::expr::parse(f).unwrap());
    for _ in 0..5 {
        let t0 = Instant::now();
        let t = Table::open(&a[1], Default::default(), false).unwrap();
        let s = t.scan(ScanRequest { filter: filter.clone(), ..Default::default() }).unwrap();
        let n = s.count_files().unwrap();
        let t1 = t0.elapsed();
        let t0 = Instant::now();
        let rows: usize = s.plan_table().unwrap().iter().map(|b| b.num_rows()).sum();
        println!("{n} {:?} plan_table {rows} {:?}", t1, t0.elapsed());
    }
    let t = Table::open(&a[1], Default::default(), false).unwrap();
    let s = t.scan(ScanRequest { filter, ..Default::default() }).unwrap();
    println!("{:#?}", s.explain().unwrap());
}
