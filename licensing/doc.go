/*
Package licensing is a licensing service as one [http.Handler]: programs get an
access token, create licenses for products and customers, read, change and
delete them. A host mounts it beside its own pages:

	st, err := sqlite.Open("licenses.db")
	if err != nil {
		return err
	}
	defer st.Close()
	h := licensing.NewHandler(st, licensing.Options{})

	mux := http.NewServeMux()
	mux.Handle("/licensing/", http.StripPrefix("/licensing", h))

It works under any prefix and behind any proxy without being told where: every
link it gives is a relative reference. Take the prefix off with
[http.StripPrefix]; other routers have a like of it.

# Who may call

Requests carry an access token, which a client gets for its client_id and
client_secret at oauth/token. Clients are issued in the dashboard, the pages
for people below dashboard/, or from Go:

	c, secret, err := h.Auth().CreateClient(ctx, auth.CreateClientParams{Name: "shop"})

The secret is returned this once and kept as a digest. A client may be limited
to some products; licenses of others do not exist for it.

The program that was sold calls with its license key and nothing else: it
validates the license, and takes and frees a seat. Those requests are limited
by key and by address.

# From Go

[Handler.Service] is the rules themselves, typed: what the API checks, it
checks; what the API writes into the event feed, it writes.

[Handler.Operators] manages the people who sign in to the dashboard; see package
operator.

[Handler.Require] is middleware for routes of the host's own: it asks for a
license, by its key or by the customer who is signed in. [Handler.Auth] has
middleware that asks for an access token. Handlers behind either can answer
errors as the API does with [WriteError].

# Events

Every change appends an event to the feed in the same update. GET /event reads
it; webhooks, which are made over the API, in the dashboard or from Go, send it
by Standard Webhooks; and Options.Subscribers are Go code that gets it. Before
a license ends, and when it has, the feed says so: see Options.Events.ExpiryNotices.

A webhook leads to a public address, by https, unless Options.Webhooks says
otherwise. That is judged by the address that is dialled, so that no name, no
redirect and no proxy leads elsewhere. A webhook gets several requests at a
time, and so in no certain order; one that is dead or slow delays no other.

# Running

The handler starts nothing. [Handler.Run] brings events out, gives the notices
of expiry and removes what has ended, for as long as its context lasts:

	var wg sync.WaitGroup
	wg.Go(func() { h.Run(ctx) })
	…
	server.Shutdown(…) // then end ctx, wait for wg, close the store

No answer depends on it, and the log says if events wait and nothing runs it.
Any number of processes may run it on one store, and share the work.

A server needs timeouts of its own (ReadHeaderTimeout, ReadTimeout,
WriteTimeout, IdleTimeout), which a handler cannot set. This one bounds the
size of a body and the time it may take, the time of the whole request, and how
often a client or an address may come; see [Options].

# Errors

Every error of the API is application/problem+json (RFC 9457) with a stable
code and the request_id that the log has; those of the OAuth endpoints are as
RFC 6749 has them. GET /health says that the process lives, GET /ready that the
store answers.
*/
package licensing
