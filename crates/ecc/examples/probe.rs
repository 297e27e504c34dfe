use ssdlab_ecc::{channel::Sensing, ldpc::{code::LdpcCode, frames::*}};
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let code = if a[1] == "c2" { LdpcCode::CcsdsC2 } else { LdpcCode::Qc2k };
    let sensing = Sensing::ALL[a[2].parse::<usize>().unwrap()];
    let max: u64 = a[3].parse().unwrap();
    println!("{:?}", code.build().short_cycles());
    for r in &a[4..] {
        let t = std::time::Instant::now();
        let c = count(&Point { code, sensing, rber: r.parse().unwrap() }, 200, max, 2);
        println!("{r} {:?} fer {:.2e} it {:.2} {:.1} us/frame", c, c.failure(), c.mean_iterations(), t.elapsed().as_secs_f64() * 1e6 / c.frames as f64);
    }
}
