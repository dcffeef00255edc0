# Reports the same usage twice, as it has happened, and prints the statuses.
import os

from usage import count

for _ in range(2):
    print(count(os.environ["LICENSE_SERVER"], os.environ["LICENSE_KEY"], "exports", "process 1, today", 5, os.environ["AT"])[0])
