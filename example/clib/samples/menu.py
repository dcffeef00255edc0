"""What a user expects of a program's first window, in a terminal: whether it is licensed, how it
is activated, and on which devices.

    python3 menu.py options.json

options.json has the options of lk_open; a real program has them in itself.
"""
import json
import sys

import licensekit

MENU = """
1 Activate in the browser
2 Enter a license key
3 Install a license file
4 Check again
5 Devices
0 Quit"""


def ask(prompt):
    print(prompt, end=" ", flush=True)
    return sys.stdin.readline().strip()


def in_the_browser(lic):
    link = lic.link()
    print(f"Open {link['url']} and compare the code: {link['code']}. Waiting for the approval ...", flush=True)
    lic.link_wait()


def with_a_key(lic):
    lic.set_key(ask("License key:"))


def with_a_file(lic):
    print("Send this to the vendor:", lic.request())
    with open(ask("File that the vendor sent:"), encoding="utf-8") as file:
        lic.install(file.read())


def devices(lic):
    found = lic.devices()
    for n, device in enumerate(found, 1):
        print(n, device["name"], "(this device)" if device["this"] else "last seen " + device["last_seen_at"][:10])
    answer = ask("Free the seat of number (Enter: none):")
    if answer.isdecimal() and 1 <= int(answer) <= len(found):
        lic.free_device(found[int(answer) - 1]["id"])
        if not found[int(answer) - 1]["this"]:
            lic.refresh()  # takes the seat


actions = {"1": in_the_browser, "2": with_a_key, "3": with_a_file, "4": licensekit.License.refresh, "5": devices}

with open(sys.argv[1], encoding="utf-8") as file:
    options = json.load(file)
with licensekit.License(**options) as lic:
    while True:
        valid, code, message = lic.check()
        print("\nLicensed. " if valid else "\nNot licensed. ", message, MENU, sep="")
        choice = ask("Choose:")
        if choice in ("0", ""):
            break
        try:
            actions.get(choice, lambda lic: None)(lic)
        except (licensekit.LicenseError, OSError) as e:
            print("That had no effect:", e)
