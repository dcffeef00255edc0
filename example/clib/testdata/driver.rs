#[path = "../bindings/licensekit.rs"]
mod licensekit;

use licensekit::{verify, version, Error, License};
use std::io::{stdin, stdout, BufRead, Write};
use std::sync::atomic::{AtomicU32, Ordering};

static NOTICED: AtomicU32 = AtomicU32::new(0);

fn run(lic: &mut Option<License>, a: &[&str]) -> Result<String, Error> {
    let ms = |i: usize| a[i].parse::<i32>().unwrap();
    match a[0] {
        "open" => *lic = Some(License::open(a[1])?),
        "fixed" => *lic = Some(License::fixed(a[1])?),
        "verify" => return verify(a[1], a[2], a[3]),
        "version" => return Ok(version()),
        "null" => return Ok("caught".into()),
        _ => {}
    }
    let l = match lic {
        Some(l) => l,
        None => return Ok("no license".into()),
    };
    match a[0] {
        "valid" => {
            let (valid, s) = l.check();
            return Ok(format!("{} {} {}", valid, s.code, s.message));
        }
        "valid_until" => return Ok(l.valid_until().to_string()),
        "status" => return Ok(l.status().unwrap_or("null".into())),
        "has" => return Ok(l.has(a[1]).to_string()),
        "number" => return Ok(l.number(a[1]).map_or("none".into(), |v| v.to_string())),
        "text" => return Ok(l.text(a[1]).unwrap_or("none".into())),
        "set_key" => l.set_key(a[1], ms(2))?,
        "take_over" => l.take_over(ms(1))?,
        "release" => l.release(ms(1))?,
        "refresh" => l.refresh(ms(1))?,
        "link" => return l.link(0),
        "link_wait" => l.link_wait(ms(1))?,
        "devices" => return l.devices(ms(1)),
        "free_device" => l.free_device(a[1], ms(2))?,
        "request" => return l.request(),
        "install" => l.install(a[1])?,
        "use" => l.use_units(a[1], a[2].parse().unwrap(), ms(3))?,
        "count" => return Ok(l.count(a[1], a[2].parse().unwrap()).to_string()),
        "watch" => l.on_change(|| { NOTICED.fetch_add(1, Ordering::SeqCst); }),
        "noticed" => return Ok(NOTICED.load(Ordering::SeqCst).to_string()),
        "close" => return Ok(l.close().to_string()),
        _ => {}
    }
    Ok("ok".into())
}

fn main() {
    let mut lic = None;
    for line in stdin().lock().lines() {
        let line = line.unwrap();
        let args: Vec<&str> = line.split('\t').collect();
        match run(&mut lic, &args) {
            Ok(s) => println!("{}", s),
            Err(e) => println!("!{} {}", e.code, e),
        }
        stdout().flush().unwrap();
    }
}
