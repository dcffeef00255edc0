/*
Package client calls the API of a licensing service, for services of the vendor
([New]) and for the programs that the vendor ships ([Open]). It uses only the
standard library and package licensefile, and keeps no state outside of a [Client] or a [Program].

# For services

A service of the vendor, such as a shop, calls the API with the credentials of
an API client:

	c, err := client.New(client.Options{
		URL:          "https://example.com/licensing",
		ClientID:     os.Getenv("LICENSING_CLIENT_ID"),
		ClientSecret: os.Getenv("LICENSING_CLIENT_SECRET"),
	})
	…
	l, err := c.CreateLicense(ctx, client.CreateLicenseParams{Name: "Atlas Team", ProductID: "atlas", CustomerID: "cus_1"})

A [Client] has a method for each operation of the API, named after it. It gets
access tokens by itself and renews each before it ends; concurrent calls share
one. Lists are iterators, which read page by page:

	for l, err := range c.ListLicenses(ctx, client.ListLicensesParams{CustomerID: "cus_1"}) {
		…
	}

# Errors

A response that reports a failure is an [*Error], with a stable [Code], the
invalid fields, and the ID of the request in the log of the service. A Code is
an error itself, so that errors.Is finds it:

	if errors.Is(err, client.CodeKeyTaken) { … }

# Retries

A Client makes up to five attempts, with growing, random pauses, when the
connection fails, when an attempt takes more than 30 seconds, and when the
status is 429, 502, 503 or 504. It waits as long as Retry-After says, up to a
minute. The context bounds everything; if its deadline is before the next
attempt, the last error is returned immediately.

Retries have no second effect. Creations and changes carry an Idempotency-Key,
which the Client sets unless the caller does, and which all attempts share. Set
it to your own order number, for example, to cover a restart of your program
too. [Client.CreateWebhook], [Client.RotateWebhook] and [Client.ImportLicenses]
accept no such key, and are retried only if the failed attempt certainly had no
effect.

# Events and webhooks

[Client.ListEvents] reads the event feed. The caller keeps the cursor, in the
same place as the effects of the events, and so misses none and repeats none.
[VerifyWebhook] checks the signature of a webhook request and returns its event.

# For shipped programs

A shipped program has a license key. [Open] activates the license for this
installation, and then checks it in the background, as often as the
service says:

	id, err := client.RandomID(dir)
	…
	lic, err := client.Open(client.ProgramOptions{URL: url, Key: key, ProductID: "atlas", Fingerprint: id})
	…
	defer lic.Close()
	if err := lic.Err(); err != nil {
		log.Print(err) // and offer only the free features
	}
	mux.Handle("GET /report", lic.Require("export")(report))

[Program.Status], [Program.Has] and [Program.Number] can be called in any hot
path: they do no I/O. The result is exact at the moment of the call, so a license
that has just expired is expired. The
schedule renews the lease of the activation, activates again if the lease has
ended and a seat is free, keeps asking after the license has expired, so that a
renewal arrives by itself, and retries after a failure, with pauses of at most
five minutes. [ProgramOptions.OnChange] reports changes.

The status of a running program, by what happens:

	the service cannot be reached, stalls, answers      stays for Offline (7 days) after the last
	5xx or 429, or is not the service (captive portal)  answer, with the warning unreachable; then
	                                                    unreachable
	the key is unknown                                  the same, with not_found
	suspended, revoked, expired, another product        denied immediately
	evicted, released                                   denied immediately, until a restart or SetKey
	the lease has ended                                 activates again; activation_limit if no seat is free
	the license expires while the service cannot be     in_grace, then expired, on time
	reached
	the clock is wrong                                  the clock of the service counts (Date)
	the clock is set back while the program runs        nothing changes, with the warning clock_changed
	the clock is set forward, or the machine slept      the service is asked; if it cannot be reached, the
	                                                    clock of the machine counts

A program that starts while the service cannot be reached is unreachable: an
answer is kept in memory only, because a file with it could be forged. It also
believes a false service with a forged name and certificate. Both change with
[ProgramOptions.Trust] and [ProgramOptions.State]: then the program asks for
license files, a positive verdict counts only with one that the pinned keys
verify, and the file counts until it expires, also after a restart.

The fingerprint is the program's choice. In containers, use an ID of the
deployment and a license with a lease; with a random one, each restart takes a
seat. Proxies are those of the environment (HTTPS_PROXY). For a private
certificate authority, set [ProgramOptions.HTTPClient].

For tests, [Fixed] returns a Program with a given status, and package
licensing/licensingtest has a service that fails on demand.

# Without a network

A program that never asks a service runs from license files, which the vendor
signs (package licensefile). It embeds the public keys of the vendor:

	//go:embed keys.json
	var jwks []byte

	keys, err := licensefile.ParseKeys(jwks)
	…
	lic, err := client.Open(client.ProgramOptions{ProductID: "atlas", Fingerprint: id, Trust: keys, State: client.Dir(dir)})
	…
	err = lic.Install(text) // which the user has pasted

[Program.Request] returns a text with which the user asks the vendor for a file.
[Program.Install] verifies a file, and only then stores it. Files may also be
dropped into the directory, or come from [ProgramOptions.Files]; they are
noticed within five minutes. Of the files that apply to this product,
fingerprint and time, the one with the highest generation counts; of several, the
latest. Revocation lists are installed in the same way.

	no file                                no_file
	the file has expired                   expired if the license has, otherwise file_expired
	the license is on the revocation list  revoked, or file_outdated if a new file would be good
	the revocation list is stale           a warning, list_stale; it still refuses what it names
	it is older than MaxListAge            list_stale
	a file or a list does not verify       it is skipped, with the warning file_skipped
	another fingerprint                    fingerprint_changed
	State or Files cannot be read          what is in use stays, with the warning state_unusable
	the clock is before what files prove   clock_changed, at the start; a running program has its own clock

With [ProgramOptions.URL] too, the service issues the files:

	the service cannot be reached          the file counts until it expires, with the warning unreachable
	the key is unknown                     the same, with not_found
	valid without a file that verifies     the same, with untrusted; without a file, untrusted
	another fingerprint than before        fingerprint_changed, without a seat, until SetKey
	any other denial                       denied immediately, until a new file arrives

A file that was issued within five minutes of the clock of the machine proves
the time; a clock that is more than five minutes before it is refused. A user
who can change the state directory can remove that proof, and a user who can
change the program can remove everything.
*/
package client
