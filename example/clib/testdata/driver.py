import json
import sys

import licensekit as lk

lic, noticed = None, [0]


def run(command, args):
    global lic
    if command == "open":
        lic = lk.License(**json.loads(args[0]))
    elif command == "fixed":
        lic = lk.License.fixed(**json.loads(args[0]))
    elif command == "valid":
        ok, code, message = lic.check()
        return f"{str(ok).lower()} {code} {message}"
    elif command in ("valid_until",):
        return lic.valid_until
    elif command == "status":
        return json.dumps(lic.status)
    elif command == "has":
        return str(lic.has(args[0])).lower()
    elif command in ("number", "text"):
        v = getattr(lic, command)(args[0])
        return "none" if v is None else f"{v:.15g}" if command == "number" else v
    elif command == "link":
        return json.dumps(lic.link())
    elif command in ("link_wait", "take_over", "release", "refresh"):
        getattr(lic, command)(int(args[0]))
    elif command == "set_key":
        lic.set_key(args[0], int(args[1]))
    elif command == "devices":
        return json.dumps(lic.devices(int(args[0])))
    elif command == "free_device":
        lic.free_device(args[0], int(args[1]))
    elif command == "request":
        return lic.request()
    elif command == "install":
        lic.install(args[0])
    elif command == "use":
        lic.use(args[0], int(args[1]), int(args[2]))
    elif command == "count":
        return str(lic.count(args[0], int(args[1]))).lower()
    elif command == "verify":
        return json.dumps(lk.verify(args[0], args[1], **json.loads(args[2])))
    elif command == "watch":
        lic.on_change(lambda: noticed.__setitem__(0, noticed[0] + 1))
    elif command == "noticed":
        return noticed[0]
    elif command == "close":
        return str(lic.close()).lower()
    elif command == "version":
        return lk.version()
    elif command == "null":
        try:
            None.x
        except AttributeError:
            return "caught"
    return "ok"


for line in sys.stdin:
    command, *args = line.rstrip("\n").split("\t")
    try:
        print(run(command, args), flush=True)
    except lk.LicenseError as e:
        print(f"!{e.code} {e}", flush=True)
