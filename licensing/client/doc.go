/*
Package client calls the API of a licensing service, for services of the vendor.
It uses only the standard library and package api, and keeps no state outside of a
[Client]. The programs that the vendor ships use package program.

A service of the vendor, such as a shop, calls the API with the credentials of
an API client:

	c, err := client.New(client.Options{
		URL:          "https://example.com/licensing",
		ClientID:     os.Getenv("LICENSING_CLIENT_ID"),
		ClientSecret: os.Getenv("LICENSING_CLIENT_SECRET"),
	})
	…
	l, err := c.CreateLicense(ctx, api.CreateLicenseParams{Name: "Atlas Team", ProductID: "atlas", CustomerID: "cus_1"})

A [Client] has a method for each operation of the API, named after it. It gets
access tokens by itself and renews each before it ends; concurrent calls share
one. Lists are iterators, which read page by page; ListLicensesPage returns one page:

	for l, err := range c.ListLicenses(ctx, api.ListLicensesParams{CustomerID: "cus_1"}) {
		…
	}

# Errors

A response that reports a failure is an [*Error], with a stable [api.Code], the
invalid fields, and the ID of the request in the log of the service. A Code is
an error itself, so that errors.Is finds it:

	if errors.Is(err, api.CodeKeyTaken) { … }

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
*/
package client
