/*
Package licensing provides a complete licensing service as one [http.Handler]:
an HTTP API, a dashboard for operators, and the same operations as Go methods.
An application mounts it beside its own routes:

	st, err := sqlite.Open("licenses.db")
	if err != nil {
		return err
	}
	defer st.Close()
	h := licensing.NewHandler(st, licensing.Options{})

	mux := http.NewServeMux()
	mux.Handle("/licensing/", http.StripPrefix("/licensing", h))

The handler works under any prefix, which the router must remove, and behind
any proxy: every link it writes is relative.

# Concepts

A license ties a product to a customer and has a key. The program that a
customer runs sends this key to validate the license and to activate it for a
machine. The result of a validation is a verdict. See package license.

An API client is a program of the vendor, such as a web shop. It gets an access
token from POST /oauth/token for its client ID and client secret, and may be
limited to some products. See package auth. Clients are created in the
dashboard or from Go:

	client, secret, err := h.Auth().CreateClient(ctx, auth.CreateClientParams{Name: "shop"})

The secret is returned only here; the store keeps a digest of it.

An operator is a person who works in the dashboard.

[Handler.Service] returns the rules for Go code: the same checks and the same
events as over HTTP, without a token. [Handler.Selling] does so for plans,
purchases and trials, [Handler.Metering] for usage, [Handler.Webhooks] for
webhooks, and [Handler.Files] for the keys of license files. [Handler.Require] is
middleware that requires a license on the application's own routes, and
[Handler.Portal] has pages for customers.

# Dashboard setup

The dashboard is at dashboard/ below the mount. There is no default account.
While no operator exists, opening the dashboard logs a setup code that is valid
for 30 minutes; the operator enters it on dashboard/setup and becomes the first
admin. Admins invite other operators. Go code can create operators and setup
codes too; see [Handler.Operators] and package operator.

An application that has a sign-in of its own sets Options.Dashboard.Operator,
which turns the built-in sign-in off. [Handler.API] and [Handler.Dashboard] are
the two halves of the handler, for example to serve the dashboard on an
internal address. If a proxy rewrites the Host header, Options.Dashboard.Origins
and, for the customer pages, Portal.Origins must list the origins that browsers use.

# Client addresses behind a proxy

Rate limits and the throttling of failed sign-ins count by address. Behind a
proxy, every request has the address of the proxy. Set Options.ClientIP to a
function that returns the address the proxy reports, and read forwarding headers
only from requests of that proxy: any client can send them.

Without Options.ClientIP, requests from private and loopback addresses are not
limited by address, because they probably come from a proxy. Failed sign-ins are
limited for such addresses too, so one visitor can delay the sign-in of others.

# Events

Every change appends an event to the feed in the same update. GET /event reads
the feed, webhooks receive events as Standard Webhooks, and Options.Subscribers
are Go functions that receive them. Before a license expires, and when it has
expired, the feed gets a notice; see Options.Events.ExpiryNotices.

A webhook must have a public https address unless Options.Webhooks.AllowPrivate
is set. The address is checked when it is dialed. Deliveries to a webhook run
concurrently, so their order is not guaranteed; a slow webhook delays no other.

# Background work

The handler starts no goroutine. [Handler.Run] delivers events, appends expiry
notices and removes expired records until its context ends:

	var wg sync.WaitGroup
	wg.Go(func() { h.Run(ctx) })

To stop, shut the server down, cancel the context, wait for Run, and close the
store. No response depends on Run. The log warns if events wait and no process
runs it.

# Retention

Run removes expired access tokens, sessions and stored responses. Events are
kept forever by default, and removed after Options.Events.Retention if it is
set; events that a subscriber still needs are kept longer, and events that an
active webhook still needs up to five days longer. Finished deliveries are kept
for 30 days; see Options.Webhooks.DeliveryRetention. Licenses are kept until
they are deleted.

# Defaults

The zero [Options] is secure and useful, and each field documents its default.
In production, set Options.MasterKey, which encrypts webhook secrets and the keys
of license files, and Options.ClientIP behind a proxy. [NewHandler] panics if an
option is invalid; [Options.Validate] reports it as an error.

The handler limits the size of a body, the time of a request, and the rate of
requests from each client, address and license key; see [LimitOptions]. It
cannot set the timeouts of the server: set ReadHeaderTimeout, ReadTimeout,
WriteTimeout and IdleTimeout.

# Errors

The API answers errors as application/problem+json (RFC 9457), with a stable
code and the request_id that is also in the log. The OAuth endpoints use the
format of RFC 6749. [Handler.WriteError] answers errors of the application's own
handlers in the format of the API. If the store cannot answer, requests get 503
with Retry-After. GET /health reports that the process runs, GET /ready that the
store answers and is not damaged, and [Handler.Health] also whether writes fail.

# Concurrency

A [Handler] is safe for concurrent use. Any number of processes can share a
store, and each can call Run: they share the work. Rate limits are counted by
each process, unless Options.Limiter shares them.
*/
package licensing
