/*
Package auth says who may call: clients and their secrets, the OAuth 2.0
endpoints that turn a secret into an access token, and the middleware that
checks one.

It keeps everything in a [store.Store] and needs nothing else of this module,
so a host can use it for routes of its own:

	a := auth.New(st, auth.Options{})
	client, secret, err := a.CreateClient(ctx, auth.CreateClientParams{Name: "build farm"})
	…
	mux.HandleFunc("/oauth/token", a.ServeToken)
	mux.Handle("/reports", a.RequireScope(auth.ScopeLicenseRead)(reports))

# Credentials

A client id begins with cid_, a secret with csk_, an access token with lat_.
Each goes on with 43 random characters of A–Z, a–z, 0–9 (256 bits) and six
that are a checksum, so that a scanner recognises one in a source file, a
mistyped one is refused without asking the store, and no client has to quote
or encode anything. Secrets and tokens are kept as SHA-256 digests only: with
256 random bits there is nothing to guess, and a slow hash would only make the
token endpoint easy to overload.

A client has at most two live secrets, so that a new one can be rolled out
while the old one still works; see [Auth.RotateSecret]. Disabling a client,
revoking a secret or narrowing what a client may do takes effect on its
tokens immediately: the next request, on any machine, sees it.

# Endpoints

[Auth.ServeToken] is the token endpoint of RFC 6749 for the client credentials
grant, [Auth.ServeRevoke] is RFC 7009, [Auth.ServeIntrospect] is RFC 7662, and
[Auth.Metadata] is the document of RFC 8414. All answer JSON of their own, not
problem documents. Whoever fails to authenticate is told the same in the same
bytes whatever the cause, after the same work; callers that keep failing are
told to wait, while a right secret is always let in.

A server of net/http limits neither how long a body may take nor how many
requests come: set its timeouts, and mount the endpoints behind the host's
limits. A plain [http.ServeMux] redirects a path like //oauth/token and
repeats its query, and with it a secret sent by GET; refuse such paths first.

# Tokens

[Auth.RequireScope] and [Auth.Authenticate] check the token of a request as
RFC 6750 says, with two point reads of the store. What the token allows is a
[Grant], found in the request's context by [GrantFrom].

Tokens that have expired are removed a few at a time whenever others are
issued, and a client that asks for more than [TokenOptions.Max] loses its
oldest, so neither a busy nor a careless client makes the store grow.

# Events

Every change appends an event in the same update: client.created,
client.updated, client.rotated and client.disabled, with the client's id as
subject and without anything secret. [Auth.As] says who is named in it. To
issue and to use tokens are no events; when a secret was last used is kept
with it, to within five minutes.

# Operators

People sign in with e-mail and password: [Auth.CreateOperator] makes an
account, [Auth.SetUp] the first one of all from a code that the log shows, and
[Auth.Invite] a code with which somebody makes their own.
Passwords are argon2id hashes in PHC strings, made anew at sign-in when the
cost has risen. Attempts are throttled by address, and by account and address,
before anything is hashed: an address may fail [Options.MaxFailures] times a
minute, and many addresses that guess at one account do not lock it. Failed
attempts append at most 60 events at once and then 60 an hour in each process,
for each operator and for all unknown accounts together.

A session is a cookie without a Path, so that a browser scopes it to the
folder of the page that set it: call [Auth.SignIn], [Auth.SignOut],
[Auth.ChangePassword] and [Auth.SetUp] from pages of one folder, and
[Auth.Session] from anything below. Each operator has a generation, which
[Auth.Session] compares: to sign out, to change a password or a role ends all
sessions of the operator, on every machine, whatever is in flight.
*/
package auth
