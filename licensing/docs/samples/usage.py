"""Asks the service for units of a meter of a license, and prints what is left of each
meter, for systems that cannot load the library (musl, serverless). For Python 3.9 or later,
without packages.

LICENSE_SERVER=https://example.com/licensing LICENSE_KEY=… python3 usage.py METER UNITS
"""

import json
import os
import sys
import time
import urllib.error
import urllib.request
import uuid


def post(server, path, body):
    """Returns the status and the answer. Raises OSError if there is none."""
    request = urllib.request.Request(server + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=10) as response:
            return response.status, json.load(response)
    except urllib.error.HTTPError as e:
        if e.code >= 500 or e.code == 429:
            raise  # an OSError: the service did not decide
        return e.code, json.load(e)


class Refused(Exception):
    """The service has decided: the license does not include the units, or is not valid."""


def use(server, key, meter, units, attempts=3):
    """Counts units, or raises Refused. A report that is repeated under its ID counts once,
    so an answer that was lost does no harm."""
    report = {"meter": meter, "id": str(uuid.uuid4()), "total": units}
    for attempt in range(1, attempts + 1):
        try:
            status, answer = post(server, "/license/usage", {"key": key, "usage": [report]})
            break
        except (OSError, ValueError):
            if attempt == attempts:
                raise
            time.sleep(attempt)
    if status != 200:
        raise Refused(answer["verdict"]["reasons"][0]["detail"] if "verdict" in answer else answer["detail"])


def count(server, key, meter, id, total, at):
    """Reports units that have been used, also above the limit: total is how many so far
    under an ID, such as a process and a day, and at is when, at most 35 days ago."""
    report = {"meter": meter, "id": id, "total": total, "at": at}  # such as 2027-01-31T12:00:00Z
    return post(server, "/license/usage", {"key": key, "usage": [report]})


def meters(server, key):
    """Returns what was used of each meter of the license, from its verdict."""
    _, verdict = post(server, "/license/validate", {"key": key})
    return verdict.get("meters", [])


if __name__ == "__main__":
    server, key = os.environ["LICENSE_SERVER"], os.environ["LICENSE_KEY"]
    try:
        use(server, key, sys.argv[1], int(sys.argv[2]))
    except Exception as e:
        sys.exit(f"not counted: {e}")
    for m in meters(server, key):
        limit = "" if m["remaining"] is None else f" of {m['limit']}"
        print(f"{m['name']}: {m['used']}{limit} used")
