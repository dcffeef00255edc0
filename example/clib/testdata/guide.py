import json
import sys

import licensekit


def show(message):
    print("show", message)


def offer_export():
    print("export")


options = json.loads(sys.argv[1])
try:
    # guide
    lic = licensekit.License(**options)  # raises licensekit.LicenseError if an option is wrong
    valid, code, message = lic.check()
    if not valid: show(message)
    if lic.has("export"): offer_export()
    # guide
    lic.close()
except licensekit.LicenseError as e:
    print("fail", e)
