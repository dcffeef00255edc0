/*
Package program is the license of a shipped program: a desktop program, a tool, a
server that runs at the customer. It uses only the standard library and the packages
api and licensefile.

	//go:embed keys.json
	var keys []byte // curl -o keys.json https://acme.example/licensing/file/keys

	lic, err := program.Open(program.Options{
		URL: "https://acme.example/licensing", Keys: keys, ProductID: "atlas", Key: os.Getenv("ATLAS_KEY"),
	})
	…
	defer lic.Close()
	if lic.Has("export") { … }

There is one rule: a positive answer is a signed license file. The program activates
the license for this installation, asks the service once an hour, and gets a license
file that the keys in it verify, which it keeps in a directory. So it starts without
a network, and a server that lies cannot make it valid. [Status.ValidUntil] says how
long it can run without the network: by default 14 days, and then at most as long as
offline_seconds of the license allows.

A program that only warns uses [Status.Message], and continues whatever Valid is.

# What happens when

	start with a license file that counts     Open returns immediately, and checks in the background
	                                          after 10 seconds
	the same, with an overdue check           Open waits for the check, at most 1 second
	start without one                         Open waits for the first attempt, at most 5 seconds
	no license has the key                    not_found at the first start
	the service is down, stalls, answers 5xx  the file counts until ValidUntil, also after a restart,
	or 429, a captive portal answers, or it   with the warning unreachable; then file_expired
	answers without a file that verifies      the same, with untrusted
	no license has the key any more           the same, with not_found, unless the revocation list says
	                                          that the license was deleted (revoked) or changed (file_outdated)
	suspended, revoked, another product       denied at the next check, with the reason of the operator,
	                                          until a newer license file arrives
	lease ended, machine slept                activates again; activation_limit if no seat is free
	seat taken over, or released              denied until SetKey, TakeOver or the next start, which may
	by someone else                           take a free seat
	Release                                   the seat is free; the next start takes one again
	no seat free                              activation_limit; TakeOver evicts the oldest activation
	the license ends without the network      in_grace, then expired, on time
	the clock of the machine is wrong         does not matter while the service answers
	the clock was set back                    a running program continues, with the warning clock_changed;
	                                          a start without the service is clock_changed
	the directory of another machine          fingerprint_changed, without a seat, until SetKey
	a directory that is full or read-only     works from memory, with the warning dir_unusable
	a revocation list that does not verify    the warning list_refused
	OnChange, or the transport, panics        the last answer counts, with the warning internal

After a failure, the program asks again after 10 seconds, then after twice as long each
time, up to 5 minutes, with jitter. After a denial that a person can end (expired,
suspended, updates_ended, activation_limit, not_found), it asks each 5 minutes for half an
hour, and then as the answer says; [License.Refresh] asks immediately. It never asks before
Retry-After, up to an hour.

# A command that ends at once

After each attempt, the program stores in the directory when the next check is due: after
an answer, when the answer says, usually after an hour; after a failure, when it would ask
again; and after Open has waited for a second, 5 minutes later. A check is overdue if that
time has passed, is missing, or is more than 24 hours ahead. So a command that runs for
milliseconds asks the service once an hour, however often it is started, and is denied
within about an hour after a suspension.

# The directory

[Options.Dir] has the license file, the newest revocation list, the last denial, the
key that [License.SetKey] stored, what was last said for display, a time that is certain,
and when the next check is due.
Files are replaced as a whole, so any number of processes may share it. A user who can
write there can remove files, or put back earlier ones, but not forge a license; a user
who can change the program can do anything.

The default directory is named after the product and the oldest of [Options.Keys], and
stores the IDs of all keys that programs have pinned there. A program finds it by any of
these keys, so the directory stays while keys are rotated, as long as a version of the
program has one key in common with a version before it. A program of another vendor with
the same product ID has a directory of its own.

# A seat for each process

With [Options.PerProcess], each process takes a seat in Open and releases it in Close. A
process that is killed has it until its lease ends. The license file of a process ends
with its lease, and is kept in memory only, so never more processes are valid than the
license has seats; of the directory, they share the key, the clock and what Count has
counted. A seat that someone else takes over or releases, or a machine that sleeps, lets a
process run beside the limit until its next check.

# Bundles

With [Options.AlsoProductID], a license of a bundle counts too if it has an entitlement that
is named as the program. The program asks with its own product first, and takes no seat of
a license that is for neither. Without a network, each program of a bundle has a seat of its
own.

# Without a network

Without [Options.URL], the program makes no requests. [License.Request] returns a text
that the user sends to the vendor, who answers with a license file, and
[License.Install] verifies and stores it.

# Which machine

By default, the fingerprint is a hash of the product and of the ID of the machine
(/etc/machine-id, MachineGuid, IOPlatformUUID), or a random ID in the directory. Images
of containers and cloned machines can share an ID, and so a seat: set
[Options.Fingerprint] there, for example to the ID of the deployment, and lease_seconds
of the license.
*/
package program
