/*
Package auth authenticates programs: it stores API clients and their secrets,
serves the OAuth 2.0 endpoints that exchange a secret for an access token, and
has middleware that checks the token.

It needs only a [store.Store], and returns errors and pages of package api, so a host
can use it without the licensing service, for routes of its own:

	a := auth.New(st, auth.Options{})
	client, secret, err := a.CreateClient(ctx, auth.CreateClientParams{Name: "build farm"})
	…
	mux.HandleFunc("/oauth/token", a.ServeToken)
	mux.Handle("/reports", a.RequireScope(auth.ScopeLicenseRead)(reports))

People who sign in to the dashboard are operators; see package
auth/operator.

# Clients and secrets

A [Client] is a program. Its scopes and products limit what its tokens may do. A
client has at most two valid secrets, so that a new one can be deployed while the
old one still works; see [Auth.RotateSecret].

A client ID starts with cid_, a secret with csk_, and an access token with lat_.
The prefix is followed by 43 random letters and digits (256 bits) and a checksum
of six characters. Scanners can find them in source code, a mistyped one is
refused without a store read, and none needs quoting or encoding. The store keeps
only the SHA-256 digests of secrets and tokens: 256 random bits cannot be guessed,
and a slow hash would only make the token endpoint easy to overload.

# Endpoints

[Auth.ServeToken] is the token endpoint of RFC 6749 for the client credentials
grant, [Auth.ServeRevoke] is the revocation endpoint of RFC 7009,
[Auth.ServeIntrospect] is the introspection endpoint of RFC 7662, and
[Auth.Metadata] is the metadata document of RFC 8414. They answer errors as
these RFCs say, not as problem documents.

All failed authentications get the same answer after the same work, whatever the
cause. A client that fails more than [TokenOptions.MaxFailures] times per minute from
one address must wait, but the right secret works at any time.

A net/http server limits neither how long a body may take nor the number of
requests: set its timeouts, and mount the endpoints behind the limits of the
host. [http.ServeMux] redirects a path such as //oauth/token and repeats its
query, which may contain a secret; refuse such paths first, or set
[TokenOptions.DisableGET].

# Tokens

[Auth.RequireScope] and [Auth.Authenticate] check the access token of a request
as RFC 6750 says. What the token allows is a [Grant], which [GrantFrom] returns
from the context of the request.

A token is valid for [TokenOptions.TTL], one hour by default. Disabling a client,
revoking a secret, removing a scope or changing the products applies to existing
tokens.

A verified token is cached for at most one second. During that time, verifying it
again does not read the store. A change made through an Auth, or one that [Auth.As]
derived from it, flushes its cache and so applies immediately: when the method or
the request returns, that Auth refuses the token. Other processes that share the
store, and any other Auth on it, may accept the token for up to one second more.
The cache has at most 10,000 tokens, about 3 MB. [Auth.ServeIntrospect] always
reads the store.

Requests of one client for tokens that wait for the write lock of the store at the
same time share an update, up to 16 of them. Each is verified for itself. Tokens
that were issued in the same update may have 16 of their 43 random characters in
common; the other 27 (160 bits) belong to the token alone.

A client that has more than [TokenOptions.Max] tokens loses the oldest. Expired
tokens take space until [Auth.Purge] removes them; Handler.Run of package licensing
calls it.

# Events

Every change of a client appends an event in the same update: client.created,
client.updated, client.rotated, client.disabled or client.deleted, with the ID of
the client as the subject. [Auth.As] sets the actor. Events never contain a
secret. Issuing and using tokens appends no events; instead, a client and a secret
record the time of their last use, at most every five minutes.

# Errors

Methods that manage clients return [api.ErrNotFound], [ErrTooManySecrets] or an
[*api.InvalidError] that lists the invalid parameters; test for them with
[errors.Is] and [errors.As]. [Auth.Authenticate] returns an [*Error] with the
HTTP status and the challenge. Any other error comes from the store.

# Concurrency

An [Auth] is safe for concurrent use. It starts no goroutine. Any number of
processes may share a store.

# Defaults

The zero [Options] are secure: tokens are valid for one hour, a client has up to
1,000 of them and may fail 20 times per minute and address, and the body of a
request has at most 16,384 bytes.
*/
package auth
