# Checks the cases of standard input with the code that the guide links.
import json
import sys

from pyjwt import check_file

job = json.load(sys.stdin)
results = []
for c in job["Cases"]:
    try:
        results.append({"Entitlements": check_file(job["Keys"], c["Text"], c["Machine"])})
    except Exception as e:
        results.append({"Error": type(e).__name__ + ": " + str(e)})
json.dump(results, sys.stdout)
