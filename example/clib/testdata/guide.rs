#[path = "../bindings/licensekit.rs"]
mod licensekit;
use licensekit::{Error, License};

fn show(message: &str) { println!("show {}", message) }
fn offer_export() { println!("export") }

fn run(options: &str) -> Result<(), Error> {
    // guide
    let lic = License::open(options)?; // an Error if an option is wrong
    let (valid, state) = lic.check();
    if !valid { show(&state.message) }
    if lic.has("export") { offer_export() }
    // guide
    Ok(())
}

fn main() {
    if let Err(e) = run(&std::env::args().nth(1).unwrap()) {
        println!("fail {}", e)
    }
}
