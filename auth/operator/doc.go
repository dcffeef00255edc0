/*
Package operator manages the operators of a licensing service: the people who
sign in to its dashboard, their passwords, invitations and sessions.

A host gets the [Service] from its handler and uses it to create accounts:

	h := licensing.NewHandler(st, licensing.Options{})
	op, err := h.Operators().Create(ctx, operator.CreateParams{
		Email: "ada@example.com", Password: password, Role: operator.RoleAdmin,
	})

A host with its own sign-in sets Options.Dashboard.Operator of package licensing instead
and returns an [Operator] for each request. The accounts, passwords and sessions
of this package are then not used.

# Accounts

An operator has an e-mail address, a password and a [Role]. An admin may see and
change everything. A viewer may see everything except license keys. A support
operator may also suspend, reinstate and renew licenses, release activations and
issue license files, but sees no API clients. [Service.Update] changes an
operator and never leaves the service without an admin who can sign in.

There are three ways to create an account:

  - [Service.Create] creates one with a password.
  - [Service.Invite] returns a code, valid for [InvitationTTL]. The person enters it on
    the dashboard and chooses a password.
    [Service.CreatePasswordReset] returns such a code for an existing operator.
  - The setup code creates the first admin. The dashboard logs it while no
    operator exists; [Service.CreateSetupCode] returns one for the host to show.

# Passwords

A password has at least [MinPassword] characters and is not a common one. The
store keeps an argon2id hash as a PHC string, which the next sign-in replaces if
its cost is below the current one.

# Second factors

An operator can enable a second factor on the dashboard: the codes of an authenticator
app (TOTP, RFC 6238) and ten recovery codes. A sign-in then needs a code after the
password. Each code works once. The secret is encrypted if Options.MasterKey is set; recovery codes
are stored as digests. [Service.RemoveSecondFactor] is for an operator who has lost
the device.

# Failed attempts

Failed attempts are throttled by address, and by account and address, before a
password is hashed. An address may fail Options.Tokens.MaxFailures times per minute.
Many addresses that guess the password of one account cannot lock it. Wrong codes
of a second factor are counted by account alone, because only callers who know the
password can enter one: the wait between attempts grows to 15 minutes, and to an
hour after a hundred. A caller who must wait gets a [*ThrottledError]. Each process appends at most 60 events
about failed attempts immediately and then 60 per hour, for each operator and for
all unknown accounts together.

# Sessions

A session is a cookie that is valid for twelve hours, or for fourteen days if the operator stays signed in on a device. The cookie has no Path, so a
browser sends it only to the dashboard. An operator has at most 50 open sessions; the
dashboard lists them and ends one. [Service.SignOutEverywhere] ends all.

Signing out, a new password, a new role and disabling an operator end all
sessions of the operator immediately, in every process.

# Events

Every change appends an event in the same update: operator.created,
operator.updated, operator.signed_in, operator.signed_out and
operator.sign_in_failed, with the ID of the operator as the subject. [Service.As]
sets the actor. Events never contain a password or a session.

# Errors

Invalid parameters are reported as an [*api.InvalidError], and an unknown
operator as [api.ErrNotFound]. The other errors are variables of this package;
test for them with [errors.Is]. Any other error comes from the store.

# Concurrency

A [Service] is safe for concurrent use. It starts no goroutine. Any number of
processes may share a store.
*/
package operator
