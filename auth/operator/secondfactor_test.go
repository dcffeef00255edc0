package operator

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/internal/signin"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/store"
)

// The test vectors of RFC 6238, appendix B, for SHA-1.
func TestTOTPVectors(t *testing.T) {
	is := is.New(t)
	secret := []byte("12345678901234567890")
	for unix, want := range map[int64]string{
		59: "94287082", 1111111109: "07081804", 1111111111: "14050471", 1234567890: "89005924", 2000000000: "69279037", 20000000000: "65353130",
	} {
		is.Equal(signin.HOTP(secret, signin.TOTPStepAt(time.Unix(unix, 0)), 8), want)
	}
	for at, ok := range map[int64]bool{-2: false, -1: true, 0: true, 1: true, 2: false} {
		now := time.Unix(1111111109, 0)
		_, matched := signin.MatchTOTP(secret, signin.HOTP(secret, signin.TOTPStepAt(now)+at, 6), now, 0)
		is.Equal(matched, ok) // a step early or late is accepted
	}
}

func TestTOTPURI(t *testing.T) {
	is := is.New(t)
	secret := signin.NewTOTPSecret()
	is.Equal(len(secret), 32)
	is.True(secret != signin.NewTOTPSecret())
	u, err := url.Parse(signin.TOTPURI("Licensing", "ada lovelace@example.com", secret))
	is.NoErr(err)
	is.Equal([]string{u.Scheme, u.Host, u.Path, u.Query().Get("secret"), u.Query().Get("issuer")},
		[]string{"otpauth", "totp", "/Licensing:ada lovelace@example.com", secret, "Licensing"})
}

// code returns the code of an authenticator app.
func (o *fixture) code(secret string) string {
	raw, err := signin.TOTPEncoding.DecodeString(secret)
	if err != nil {
		panic(err)
	}
	return signin.HOTP(raw, signin.TOTPStepAt(o.now), signin.TOTPDigits)
}

// enable enables the second factor of the operator who is signed in.
func (b *browser) enable(t *testing.T) (secret string, recovery []string) {
	t.Helper()
	return b.enableWith(t, goodPassword)
}

func (b *browser) enableWith(t *testing.T, password string) (secret string, recovery []string) {
	t.Helper()
	secret = signin.NewTOTPSecret()
	recovery, err := b.tryEnable(signin.EnableSecondFactorParams{Secret: secret, Code: b.o.code(secret), Password: password})
	is.New(t).NoErr(err)
	b.o.now = b.o.now.Add(signin.TOTPStep)
	return secret, recovery
}

func (b *browser) tryEnable(p signin.EnableSecondFactorParams) (recovery []string, err error) {
	err = b.do(func(w http.ResponseWriter, r *http.Request) (err error) {
		recovery, err = b.o.EnableSecondFactor(w, r, p)
		return err
	})
	return recovery, err
}

func (b *browser) complete(code string) error {
	return b.do(func(w http.ResponseWriter, r *http.Request) error {
		_, err := b.o.CompleteSignIn(w, r, code)
		return err
	})
}

func TestSecondFactor(t *testing.T) {
	is := is.New(t)
	o, ada, desk := newSignedIn(t)
	other := &browser{o: o}
	is.NoErr(other.signIn("ada@example.com", goodPassword))
	secret, recovery := desk.enable(t)
	is.Equal(desk.who(), "ada@example.com")
	is.Equal(other.who(), signin.ErrNoSession.Error()) // all other sessions have ended
	is.Equal(len(recovery), recoveryCodes)
	ada, err := o.Get(t.Context(), ada.ID)
	is.NoErr(err)
	is.True(ada.SecondFactor)
	is.Equal(ada.RecoveryCodes, recoveryCodes)

	b := &browser{o: o}
	require.ErrorIs(t, b.complete(o.code(secret)), signin.ErrNoSession) // the password comes first
	require.ErrorIs(t, b.signIn("ada@example.com", otherPassword), signin.ErrCredentials)
	before, _ := o.events(t)
	require.ErrorIs(t, b.signIn("ada@example.com", goodPassword), signin.ErrSecondFactor)
	is.Equal(b.who(), signin.ErrNoSession.Error()) // the password alone opens nothing
	after, _ := o.events(t)
	is.Equal(len(before), len(after)) // and is not a sign-in yet
	list, err := o.Sessions(b.request(), ada.ID)
	is.NoErr(err)
	is.Equal(len(list), 1)

	require.ErrorIs(t, b.complete("000000"), signin.ErrCode)
	o.now = o.now.Add(-signin.TOTPStep)
	enabling := o.code(secret)
	o.now = o.now.Add(signin.TOTPStep)
	require.ErrorIs(t, b.complete(enabling), signin.ErrCode) // it was used
	code := o.code(secret)
	is.NoErr(b.complete(code[:3] + " " + code[3:]))
	is.Equal(b.who(), "ada@example.com")
	require.ErrorIs(t, b.complete(code), signin.ErrNoSession) // the session of the password has ended

	require.ErrorIs(t, b.signIn("ada@example.com", goodPassword), signin.ErrSecondFactor)
	require.ErrorIs(t, b.complete(code), signin.ErrCode) // a code is used once
	o.now = o.now.Add(pendingLifetime)
	require.ErrorIs(t, b.complete(o.code(secret)), signin.ErrNoSession) // five minutes after the password
	types, text := o.events(t)
	is.Equal(types[len(types)-1], "operator.sign_in_failed by anonymous")
	require.Contains(t, text, `"changes":{"second_factor":{"from":false,"to":true}}`)
	require.NotContains(t, text, secret, code)
}

func TestRecoveryCodesWorkOnce(t *testing.T) {
	is := is.New(t)
	o, ada, b := newSignedIn(t)
	_, recovery := b.enable(t)
	for i, code := range []string{recovery[recoveryCodes-1], recovery[0]} {
		require.ErrorIs(t, b.signIn("ada@example.com", goodPassword), signin.ErrSecondFactor)
		is.NoErr(b.complete(strings.ToLower(code)))
		is.Equal(b.who(), "ada@example.com")
		op, err := o.Get(t.Context(), ada.ID)
		is.NoErr(err)
		is.Equal(op.RecoveryCodes, recoveryCodes-1-i)
	}
	require.ErrorIs(t, b.signIn("ada@example.com", goodPassword), signin.ErrSecondFactor)
	require.ErrorIs(t, b.complete(recovery[0]), signin.ErrCode)
	_, text := o.events(t)
	is.Equal(strings.Count(text, `"recovery_code":true`), 2)
	e, err := o.st.Entry(t.Context(), kindOperator, ada.ID)
	is.NoErr(err)
	for _, code := range recovery {
		require.NotContains(t, string(e.Data), strings.ReplaceAll(code, "-", "")) // only digests are stored
	}
}

// A caller who knows the password cannot try many codes, from however many
// addresses, and cannot reset the counter by entering the password again.
func TestCodesAreThrottled(t *testing.T) {
	is := is.New(t)
	o, _, b := newSignedIn(t)
	secret, _ := b.enable(t)
	tries := 0
	for i := range 12 {
		guess := &browser{o: o, addr: fmt.Sprintf("198.51.%d.7:9", i)}
		require.ErrorIs(t, guess.signIn("ada@example.com", goodPassword), signin.ErrSecondFactor)
		if err := guess.complete("000000"); errors.Is(err, signin.ErrCode) {
			tries++
		} else {
			require.ErrorIs(t, err, ErrThrottled)
			require.ErrorIs(t, guess.complete(o.code(secret)), ErrThrottled) // not even the right code is checked
		}
	}
	is.Equal(tries, 3)
	o.now = o.now.Add(time.Minute)
	require.ErrorIs(t, b.signIn("ada@example.com", goodPassword), signin.ErrSecondFactor)
	is.NoErr(b.complete(o.code(secret)))
	require.ErrorIs(t, b.signIn("ada@example.com", goodPassword), signin.ErrSecondFactor)
	require.ErrorIs(t, b.complete("000000"), signin.ErrCode) // a sign-in ends the delay
}

// TestAnAddressMayFailSoOften: wrong passwords and wrong codes of one address count
// together, and a sign-in does not count.
func TestAnAddressMayFailSoOften(t *testing.T) {
	is := is.New(t)
	_, _, b := newSignedIn(t)
	_, recovery := b.enable(t)
	for i := range failuresPerMinute - 2 {
		require.ErrorIs(t, b.signIn(fmt.Sprintf("unknown%d@example.com", i), goodPassword), signin.ErrCredentials)
	}
	for _, code := range recovery[:3] {
		require.ErrorIs(t, b.signIn("ada@example.com", goodPassword), signin.ErrSecondFactor)
		is.NoErr(b.complete(code))
	}
	require.ErrorIs(t, b.signIn("ada@example.com", goodPassword), signin.ErrSecondFactor)
	for range 2 {
		require.ErrorIs(t, b.complete("000000"), signin.ErrCode)
	}
	require.ErrorIs(t, b.complete(recovery[3]), ErrThrottled)
}

// TestSignOutEndsAPendingSignIn: the cookie of a sign-in that waits for its code.
func TestSignOutEndsAPendingSignIn(t *testing.T) {
	is := is.New(t)
	o, _, b := newSignedIn(t)
	secret, _ := b.enable(t)
	require.ErrorIs(t, b.signIn("ada@example.com", goodPassword), signin.ErrSecondFactor)
	kept := &browser{o: o, cookie: b.cookie}
	is.NoErr(b.do(o.SignOut))
	require.ErrorIs(t, kept.complete(o.code(secret)), signin.ErrNoSession)
}

// TestCodesAreComparedWhole: a code whose digest begins like a stored one is wrong.
func TestCodesAreComparedWhole(t *testing.T) {
	is := is.New(t)
	o := newFixture(t)
	code, err := o.CreateSetupCode(t.Context())
	is.NoErr(err)
	is.NoErr(o.st.Update(t.Context(), func(tx store.Tx) error {
		e, err := tx.Entry(t.Context(), kindSetup, setupKey)
		if err != nil {
			return err
		}
		e.Data = bytes.Clone(e.Data)
		e.Data[len(e.Data)-1] ^= 1
		return tx.PutEntries(t.Context(), e)
	}))
	require.ErrorIs(t, o.checkSetupCode(t.Context(), o.st, code), signin.ErrSetupCode)
	codes, digests := newRecoveryCodes()
	digests[0][sha256.Size-1] ^= 1
	ok, _, err := (&secondFactor{Recovery: digests}).use(o.box(), "opr_1", codes[0], o.now)
	is.NoErr(err)
	is.True(!ok)
}

// A sign-in that waits for its code ends with the sessions of the operator.
func TestAPendingSignInEndsWithTheSessions(t *testing.T) {
	yes := true
	for name, end := range map[string]func(*fixture, Operator) error{
		"signed out everywhere": func(o *fixture, op Operator) error { return o.SignOutEverywhere(t.Context(), op.ID) },
		"disabled": func(o *fixture, op Operator) error {
			_, err := o.Update(t.Context(), UpdateParams{ID: op.ID, Disabled: &yes})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			o, ada, b := newSignedIn(t)
			o.operator(t, "eve@example.com", RoleAdmin)
			secret, _ := b.enable(t)
			require.ErrorIs(t, b.signIn("ada@example.com", goodPassword), signin.ErrSecondFactor)
			is.NoErr(end(o, ada))
			is.Equal(b.complete(o.code(secret)), signin.ErrNoSession)
		})
	}
}

func TestEnableSecondFactorIsChecked(t *testing.T) {
	is := is.New(t)
	o := newFixture(t)
	o.operator(t, "ada@example.com", RoleAdmin)
	b := &browser{o: o}
	enable := func(p signin.EnableSecondFactorParams) error {
		_, err := b.tryEnable(p)
		return err
	}
	field := func(err error) string {
		invalid, ok := errors.AsType[*api.InvalidError](err)
		if !ok {
			return fmt.Sprint(err)
		}
		return invalid.Fields[0].Field
	}
	secret := signin.NewTOTPSecret()
	good := signin.EnableSecondFactorParams{Secret: secret, Code: o.code(secret), Password: goodPassword}
	is.Equal(enable(good), signin.ErrNoSession)
	is.NoErr(b.signIn("ada@example.com", goodPassword))
	is.Equal(field(enable(signin.EnableSecondFactorParams{Secret: secret, Code: "000000", Password: goodPassword})), "code")
	is.Equal(field(enable(signin.EnableSecondFactorParams{Secret: "MFRGG", Code: o.code("MFRGG"), Password: goodPassword})), "secret") // too short
	wrong := good
	wrong.Password = otherPassword
	require.ErrorIs(t, enable(wrong), signin.ErrCredentials)
	is.NoErr(enable(good))
	is.Equal(field(enable(good)), "secret") // enabled already
	is.Equal(b.who(), "ada@example.com")
}

func TestRemoveSecondFactor(t *testing.T) {
	is := is.New(t)
	o, ada, b := newSignedIn(t)
	b.enable(t)
	disable := func(password string) error {
		return b.do(func(w http.ResponseWriter, r *http.Request) error { return o.DisableSecondFactor(w, r, password) })
	}
	require.ErrorIs(t, disable(otherPassword), signin.ErrCredentials)
	is.NoErr(disable(goodPassword))
	is.Equal(b.who(), "ada@example.com")
	is.NoErr(b.signIn("ada@example.com", goodPassword))

	b.enable(t)
	op, err := o.As(auth.Caller{Actor: "operator:opr_boss"}).RemoveSecondFactor(t.Context(), ada.ID)
	is.NoErr(err)
	is.True(!op.SecondFactor)
	is.Equal(b.who(), signin.ErrNoSession.Error())
	types, text := o.events(t)
	is.Equal(types[len(types)-1], "operator.updated by operator:opr_boss")
	require.HasSuffix(t, text, `"changes":{"second_factor":{"from":true,"to":false}}}`+"\n")
	is.NoErr(b.signIn("ada@example.com", goodPassword))
	_, err = o.RemoveSecondFactor(t.Context(), ada.ID) // there is none: nothing changes
	is.NoErr(err)
	is.Equal(b.who(), "ada@example.com")
	_, err = o.RemoveSecondFactor(t.Context(), "opr_unknown")
	require.ErrorIs(t, err, api.ErrNotFound)
}

// A link that resets the password does not replace the second factor.
func TestPasswordResetNeedsTheSecondFactor(t *testing.T) {
	is := is.New(t)
	o, ada, b := newSignedIn(t)
	secret, _ := b.enable(t)
	link, err := o.CreatePasswordReset(t.Context(), ada.ID)
	is.NoErr(err)
	thief := &browser{o: o}
	require.ErrorIs(t, thief.accept(link, otherPassword), signin.ErrSecondFactor)
	is.Equal(thief.who(), signin.ErrNoSession.Error())
	is.NoErr(thief.complete(o.code(secret))) // the owner has the device
	is.Equal(thief.who(), "ada@example.com")
}

func TestSecondFactorIsSealed(t *testing.T) {
	is := is.New(t)
	o, ada, b := newSignedIn(t)
	with := func(key string, previous ...string) {
		opts := o.opts
		opts.MasterKey, opts.PreviousMasterKeys = nil, nil
		if key != "" {
			opts.MasterKey = bytes.Repeat([]byte(key), 32)
		}
		for _, k := range previous {
			opts.PreviousMasterKeys = append(opts.PreviousMasterKeys, bytes.Repeat([]byte(k), 32))
		}
		o.Service = open(opts)
	}
	stored := func() (f secondFactor) {
		_, rec, err := readRecord(t.Context(), o.st, ada.ID)
		is.NoErr(err)
		return *rec.SecondFactor
	}
	signIn := func(secret string) error {
		o.now = o.now.Add(signin.TOTPStep)
		require.ErrorIs(t, b.signIn("ada@example.com", goodPassword), signin.ErrSecondFactor)
		return b.complete(o.code(secret))
	}
	secret, recovery := b.enable(t)
	raw, err := signin.TOTPEncoding.DecodeString(secret)
	is.NoErr(err)
	is.Equal(stored().Secret, raw) // in plain text without a master key

	with("a")
	is.NoErr(signIn(secret))
	is.True(stored().Sealed)
	require.NotContains(t, string(stored().Secret), string(raw)) // sealed at the next sign-in
	first := stored().Secret
	with("b", "a")
	is.NoErr(signIn(secret))
	is.True(!bytes.Equal(stored().Secret, first))
	with("b")
	is.NoErr(signIn(secret)) // sealed with the current key now

	with("c")
	err = signIn(secret)
	is.True(err != nil)
	require.Contains(t, err.Error(), "PreviousMasterKeys")
	is.NoErr(b.complete(recovery[0])) // which needs no secret
	e, err := o.st.Entry(t.Context(), kindOperator, ada.ID)
	is.NoErr(err)
	is.Equal(e.Move, store.Kept)
	is.True(json.Valid(e.Data))
}
