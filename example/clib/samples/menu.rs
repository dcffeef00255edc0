//! What a user expects of a program's first window, in a terminal: whether it is licensed, how it
//! is activated, and on which devices. ./menu options.json: the file has the options of lk_open; a
//! real program has them in itself, and reads JSON with a crate.
use std::error::Error;
use std::io::{self, Write};
use std::{env, fs};

#[path = "../bindings/licensekit.rs"]
#[allow(dead_code)]
mod licensekit;
use licensekit::License;

type Done = Result<(), Box<dyn Error>>;

fn ask(prompt: &str) -> String {
    print!("{} ", prompt);
    let mut line = String::new();
    let _ = io::stdout().flush().and_then(|_| io::stdin().read_line(&mut line));
    line.trim().into()
}

/// Returns a text of a JSON object.
fn member<'a>(json: &'a str, name: &str) -> &'a str {
    let rest = json.split_once(&format!("\"{}\":\"", name)).map_or("", |(_, rest)| rest);
    rest.split('"').next().unwrap_or("")
}

fn in_the_browser(lic: &License) -> Done {
    let link = lic.link(0)?;
    println!("Open {} and compare the code: {}. Waiting for the approval ...", member(&link, "url"), member(&link, "code"));
    Ok(lic.link_wait(600_000)?)
}

fn with_a_file(lic: &License) -> Done {
    println!("Send this to the vendor: {}", lic.request()?);
    Ok(lic.install(&fs::read_to_string(ask("File that the vendor sent:"))?)?)
}

fn devices(lic: &License) -> Done {
    let json = lic.devices(0)?;
    let found: Vec<&str> = json.split("{\"object\":").skip(1).collect();
    let is_own = |device: &str| device.contains("\"this\":true");
    for (i, device) in found.iter().enumerate() {
        println!("{} {}{}", i + 1, member(device, "name"), if is_own(device) { " (this device)" } else { "" });
    }
    let n: usize = ask("Free the seat of number (Enter: none):").parse().unwrap_or(0);
    if n < 1 || n > found.len() {
        return Ok(());
    }
    lic.free_device(member(found[n - 1], "id"), 0)?;
    if !is_own(found[n - 1]) {
        lic.refresh(0)?; // takes the seat
    }
    Ok(())
}

fn main() -> Done {
    let lic = License::open(&fs::read_to_string(env::args().nth(1).ok_or("options.json is missing")?)?)?;
    loop {
        let (valid, state) = lic.check();
        println!("\n{} {}", if valid { "Licensed." } else { "Not licensed." }, state.message);
        println!("1 Activate in the browser\n2 Enter a license key\n3 Install a license file\n4 Check again\n5 Devices\n0 Quit");
        let done = match ask("Choose:").as_str() {
            "1" => in_the_browser(&lic),
            "2" => lic.set_key(&ask("License key:"), 0).map_err(|e| e.into()),
            "3" => with_a_file(&lic),
            "4" => lic.refresh(0).map_err(|e| e.into()),
            "5" => devices(&lic),
            "0" | "" => return Ok(()),
            _ => Ok(()),
        };
        if let Err(e) = done {
            println!("That had no effect: {}", e);
        }
    }
}
