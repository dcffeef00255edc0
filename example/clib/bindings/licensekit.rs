//! The license of a program: the Rust binding of licensekit.h, which says what each function
//! does. For Rust 1.63 or later, without crates. JSON stays text.
//!
//! ```ignore
//! let lic = License::open(options)?; // closed when it is dropped
//! if lic.has("export") { … }
//! ```
use std::ffi::{CStr, CString};
use std::os::raw::{c_char, c_int};
use std::{fmt, ptr, thread};

#[repr(C)]
struct Reason {
    code: [c_char; 64],
    message: [c_char; 960],
}

#[link(name = "licensekit")]
extern "C" {
    fn lk_version() -> *const c_char;
    fn lk_open(options: *const c_char, r: *mut Reason) -> u64;
    fn lk_fixed(status: *const c_char, r: *mut Reason) -> u64;
    fn lk_close(l: u64) -> c_int;
    fn lk_valid(l: u64, r: *mut Reason) -> c_int;
    fn lk_valid_until(l: u64) -> i64;
    fn lk_status(l: u64) -> *mut c_char;
    fn lk_has(l: u64, name: *const c_char) -> c_int;
    fn lk_number(l: u64, name: *const c_char, value: *mut f64) -> c_int;
    fn lk_text(l: u64, name: *const c_char) -> *mut c_char;
    fn lk_wait(l: u64, seen: u64, ms: c_int) -> u64;
    fn lk_set_key(l: u64, key: *const c_char, ms: c_int, r: *mut Reason) -> c_int;
    fn lk_take_over(l: u64, ms: c_int, r: *mut Reason) -> c_int;
    fn lk_release(l: u64, ms: c_int, r: *mut Reason) -> c_int;
    fn lk_refresh(l: u64, ms: c_int, r: *mut Reason) -> c_int;
    fn lk_link(l: u64, ms: c_int, r: *mut Reason) -> *mut c_char;
    fn lk_link_wait(l: u64, ms: c_int, r: *mut Reason) -> c_int;
    fn lk_devices(l: u64, ms: c_int, r: *mut Reason) -> *mut c_char;
    fn lk_free_device(l: u64, id: *const c_char, ms: c_int, r: *mut Reason) -> c_int;
    fn lk_request(l: u64, r: *mut Reason) -> *mut c_char;
    fn lk_install(l: u64, text: *const c_char, r: *mut Reason) -> c_int;
    fn lk_use(l: u64, meter: *const c_char, n: i64, ms: c_int, r: *mut Reason) -> c_int;
    fn lk_count(l: u64, meter: *const c_char, n: i64) -> c_int;
    fn lk_verify(keys: *const c_char, file: *const c_char, expect: *const c_char, r: *mut Reason) -> *mut c_char;
    fn lk_free(text: *mut c_char);
}

/// Why a call had no effect: code is for the program, message one sentence for the user.
#[derive(Debug, Clone)]
pub struct Error {
    pub code: String,
    pub message: String,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result { f.write_str(&self.message) }
}
impl std::error::Error for Error {}

/// Returns a copy of a text of the library.
fn read(p: *const c_char) -> String { unsafe { CStr::from_ptr(p) }.to_string_lossy().into_owned() }

/// Returns a text of the library, and frees it.
fn take(p: *mut c_char) -> Option<String> {
    if p.is_null() {
        return None;
    }
    let s = read(p);
    unsafe { lk_free(p) };
    Some(s)
}

/// Returns a text for C; one with a zero byte becomes one that the library refuses.
fn c(s: &str) -> CString { CString::new(s).unwrap_or_else(|_| CString::new(&b"\xff"[..]).unwrap()) }

fn said(r: &Reason) -> Error { Error { code: read(r.code.as_ptr()), message: read(r.message.as_ptr()) } }

/// Calls a function that takes a reason. Returns its result, or the reason if that is no.
fn call<T: PartialEq>(f: impl FnOnce(*mut Reason) -> T, no: T) -> Result<T, Error> {
    let mut r = Reason { code: [0; 64], message: [0; 960] };
    let v = f(&mut r);
    if v == no { Err(said(&r)) } else { Ok(v) }
}

fn act(f: impl FnOnce(*mut Reason) -> c_int) -> Result<(), Error> { call(f, 0).map(drop) }
fn text(f: impl FnOnce(*mut Reason) -> *mut c_char) -> Result<String, Error> { call(f, ptr::null_mut()).map(|p| take(p).unwrap_or_default()) }

pub fn version() -> String { read(unsafe { lk_version() }) }

/// Returns the claims of a license file as JSON.
pub fn verify(keys: &str, file: &str, expect: &str) -> Result<String, Error> {
    let (k, f, e) = (c(keys), c(file), c(expect));
    text(|r| unsafe { lk_verify(k.as_ptr(), f.as_ptr(), e.as_ptr(), r) })
}

pub struct License(u64);

impl License {
    /// Takes the options of lk_open in JSON.
    pub fn open(options: &str) -> Result<License, Error> { call(|r| unsafe { lk_open(c(options).as_ptr(), r) }, 0).map(License) }
    pub fn fixed(status: &str) -> Result<License, Error> { call(|r| unsafe { lk_fixed(c(status).as_ptr(), r) }, 0).map(License) }

    /// Whether the license is valid, and the code and the message of the same moment.
    pub fn check(&self) -> (bool, Error) {
        let mut r = Reason { code: [0; 64], message: [0; 960] };
        let valid = unsafe { lk_valid(self.0, &mut r) } != 0;
        (valid, said(&r))
    }
    pub fn valid(&self) -> bool { unsafe { lk_valid(self.0, ptr::null_mut()) != 0 } }
    /// One sentence for the user.
    pub fn message(&self) -> String { self.check().1.message }
    pub fn valid_until(&self) -> i64 { unsafe { lk_valid_until(self.0) } }
    pub fn status(&self) -> Option<String> { take(unsafe { lk_status(self.0) }) }
    pub fn has(&self, entitlement: &str) -> bool { unsafe { lk_has(self.0, c(entitlement).as_ptr()) != 0 } }
    pub fn number(&self, entitlement: &str) -> Option<f64> {
        let mut v = 0.0;
        if unsafe { lk_number(self.0, c(entitlement).as_ptr(), &mut v) } != 0 { Some(v) } else { None }
    }
    pub fn text(&self, entitlement: &str) -> Option<String> { take(unsafe { lk_text(self.0, c(entitlement).as_ptr()) }) }
    pub fn set_key(&self, key: &str, ms: i32) -> Result<(), Error> { act(|r| unsafe { lk_set_key(self.0, c(key).as_ptr(), ms, r) }) }
    pub fn take_over(&self, ms: i32) -> Result<(), Error> { act(|r| unsafe { lk_take_over(self.0, ms, r) }) }
    pub fn release(&self, ms: i32) -> Result<(), Error> { act(|r| unsafe { lk_release(self.0, ms, r) }) }
    pub fn refresh(&self, ms: i32) -> Result<(), Error> { act(|r| unsafe { lk_refresh(self.0, ms, r) }) }
    pub fn link(&self, ms: i32) -> Result<String, Error> { text(|r| unsafe { lk_link(self.0, ms, r) }) }
    pub fn link_wait(&self, ms: i32) -> Result<(), Error> { act(|r| unsafe { lk_link_wait(self.0, ms, r) }) }
    pub fn devices(&self, ms: i32) -> Result<String, Error> { text(|r| unsafe { lk_devices(self.0, ms, r) }) }
    pub fn free_device(&self, id: &str, ms: i32) -> Result<(), Error> { act(|r| unsafe { lk_free_device(self.0, c(id).as_ptr(), ms, r) }) }
    pub fn request(&self) -> Result<String, Error> { text(|r| unsafe { lk_request(self.0, r) }) }
    pub fn install(&self, file: &str) -> Result<(), Error> { act(|r| unsafe { lk_install(self.0, c(file).as_ptr(), r) }) }
    pub fn use_units(&self, meter: &str, n: i64, ms: i32) -> Result<(), Error> { act(|r| unsafe { lk_use(self.0, c(meter).as_ptr(), n, ms, r) }) }
    pub fn count(&self, meter: &str, n: i64) -> bool { unsafe { lk_count(self.0, c(meter).as_ptr(), n) != 0 } }

    /// Calls f on a thread of its own after each change, until close.
    pub fn on_change(&self, mut f: impl FnMut() + Send + 'static) {
        let l = self.0;
        thread::spawn(move || {
            let mut seen = unsafe { lk_wait(l, 0, 0) };
            while seen != 0 {
                seen = unsafe { lk_wait(l, seen, -1) };
                if seen != 0 { f() }
            }
        });
    }
    pub fn close(&self) -> bool { unsafe { lk_close(self.0) != 0 } }
}

impl Drop for License {
    fn drop(&mut self) { self.close(); }
}
