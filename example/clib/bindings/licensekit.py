"""The license of a program: the Python binding of licensekit.h, which says what each
function does. For Python 3.8 or later, without packages.

    with licensekit.License(url="https://acme.example/licensing", keys=KEYS, product_id="atlas") as lic:
        if lic.has("export"): ...
"""
import ctypes
import json
import os
import sys
import threading

_u64, _i64, _int, _str, _void = ctypes.c_uint64, ctypes.c_int64, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p


class _Reason(ctypes.Structure):
    _fields_ = [("code", ctypes.c_char * 64), ("message", ctypes.c_char * 960)]


_why = ctypes.POINTER(_Reason)
_functions = {  # the result and the arguments; _void as a result is a text to free
    "version": (_str,), "open": (_u64, _str, _why), "fixed": (_u64, _str, _why), "close": (_int, _u64), "valid": (_int, _u64, _why),
    "valid_until": (_i64, _u64), "status": (_void, _u64), "has": (_int, _u64, _str), "number": (_int, _u64, _str, ctypes.POINTER(ctypes.c_double)),
    "text": (_void, _u64, _str), "wait": (_u64, _u64, _u64, _int), "set_key": (_int, _u64, _str, _int, _why), "take_over": (_int, _u64, _int, _why),
    "release": (_int, _u64, _int, _why), "refresh": (_int, _u64, _int, _why), "link": (_void, _u64, _int, _why), "link_wait": (_int, _u64, _int, _why),
    "devices": (_void, _u64, _int, _why), "free_device": (_int, _u64, _str, _int, _why), "request": (_void, _u64, _why), "install": (_int, _u64, _str, _why), "use": (_int, _u64, _str, _i64, _int, _why), "count": (_int, _u64, _str, _i64),
    "verify": (_void, _str, _str, _str, _why), "free": (None, _void),
}
_names = {"win32": "licensekit.dll", "darwin": "liblicensekit.dylib"}
_lib = ctypes.CDLL(os.environ.get("LICENSEKIT_LIBRARY") or os.path.join(os.path.dirname(os.path.abspath(__file__)), _names.get(sys.platform, "liblicensekit.so")))
for _name, (_result, *_arguments) in _functions.items():
    _f = getattr(_lib, "lk_" + _name)
    _f.restype, _f.argtypes = _result, _arguments


class LicenseError(Exception):
    """Why a call had no effect: code is for the program, str() one sentence for the user."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


def _utf8(text):
    return text.encode("utf-8", "surrogatepass")  # the library refuses what is not UTF-8


def _text(pointer):
    try:
        return ctypes.string_at(pointer).decode()
    finally:
        _lib.lk_free(pointer)


def _call(name, *args):
    """Calls a function that takes a reason, and returns its result or raises it."""
    why = _Reason()
    args = [_utf8(a) if isinstance(a, str) else a for a in args]
    result = getattr(_lib, "lk_" + name)(*args, ctypes.byref(why))
    if not result:
        raise LicenseError(why.code.decode(), why.message.decode())
    return _text(result) if _functions[name][0] is _void else result


def verify(keys, file, **expect):
    """Returns the claims of a license file; keys and expect as lk_verify takes them."""
    return json.loads(_call("verify", keys if isinstance(keys, str) else json.dumps(keys), file, json.dumps(expect)))


def version():
    return _lib.lk_version().decode()


class License:
    """Takes the options of lk_open. Safe for threads; ctypes releases the interpreter lock."""

    def __init__(self, **options):
        self._handle = _call("open", json.dumps(options))

    @classmethod
    def fixed(cls, **status):
        self = cls.__new__(cls)
        self._handle = _call("fixed", json.dumps(status))
        return self

    def check(self):
        """Returns whether the license is valid, the code and the message of one moment."""
        why = _Reason()
        ok = bool(_lib.lk_valid(self._handle, ctypes.byref(why)))
        return ok, why.code.decode(), why.message.decode()

    valid = property(lambda self: self.check()[0])
    message = property(lambda self: self.check()[2])
    valid_until = property(lambda self: _lib.lk_valid_until(self._handle))

    @property
    def status(self):
        text = _lib.lk_status(self._handle)
        return json.loads(_text(text)) if text else None

    def has(self, entitlement):
        return bool(_lib.lk_has(self._handle, _utf8(entitlement)))

    def number(self, entitlement):
        value = ctypes.c_double()
        return value.value if _lib.lk_number(self._handle, _utf8(entitlement), ctypes.byref(value)) else None

    def text(self, entitlement):
        text = _lib.lk_text(self._handle, _utf8(entitlement))
        return _text(text) if text else None

    def set_key(self, key, timeout_ms=0): _call("set_key", self._handle, key, timeout_ms)
    def take_over(self, timeout_ms=0): _call("take_over", self._handle, timeout_ms)
    def release(self, timeout_ms=0): _call("release", self._handle, timeout_ms)
    def refresh(self, timeout_ms=0): _call("refresh", self._handle, timeout_ms)
    def devices(self, timeout_ms=0): return json.loads(_call("devices", self._handle, timeout_ms))
    def free_device(self, id, timeout_ms=0): _call("free_device", self._handle, id, timeout_ms)
    def link(self, timeout_ms=0): return json.loads(_call("link", self._handle, timeout_ms))
    def request(self): return _call("request", self._handle)
    def install(self, text): _call("install", self._handle, text)
    def use(self, meter, n=1, timeout_ms=0): _call("use", self._handle, meter, n, timeout_ms)
    def count(self, meter, n=1): return bool(_lib.lk_count(self._handle, _utf8(meter), n))

    def link_wait(self, timeout_ms=600_000):
        """Waits a second at a time, so that Ctrl-C ends it."""
        while True:
            try:
                return bool(_call("link_wait", self._handle, min(timeout_ms, 1000)))
            except LicenseError as e:
                timeout_ms -= 1000
                if e.code != "timeout" or timeout_ms <= 0:
                    raise

    def on_change(self, call):
        """Calls call() on a thread of its own after each change, until close."""
        def run():
            seen = _lib.lk_wait(self._handle, 0, 0)
            while seen:
                now = _lib.lk_wait(self._handle, seen, -1)
                if now:
                    call()
                seen = now
        threading.Thread(target=run, daemon=True).start()

    def close(self): return bool(_lib.lk_close(self._handle))
    def __enter__(self): return self
    def __exit__(self, *_): self.close()
