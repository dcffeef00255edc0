package client_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/require"
	"github.com/seed-d8a106b4/licensekit/licensing/client"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
)

// A relay carries the requests of a program to the vendor, counts those for a
// file, and may change the answers.
type relay struct {
	s            stage
	files, lists atomic.Int64
	change       atomic.Pointer[func(body map[string]any)] // of an answer in JSON; nil: none
	list         atomic.Pointer[string]                    // in place of the revocation list; nil: none
}

func (r *relay) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return nil, err
		}
		if bytes.Contains(body, []byte(`"nonce":`)) {
			r.files.Add(1)
		}
		req.Body = io.NopCloser(bytes.NewReader(body))
	}
	resp, err := r.s.vendor.HTTPClient().Transport.RoundTrip(req)
	if strings.HasSuffix(req.URL.Path, "/file/revocations") {
		r.lists.Add(1)
		if list := r.list.Load(); err == nil && list != nil {
			resp.Body = io.NopCloser(strings.NewReader(*list))
		}
	}
	change := r.change.Load()
	if err != nil || change == nil || resp.Header.Get("Content-Type") != "application/json" {
		return resp, err
	}
	var answer map[string]any
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		return nil, err
	}
	(*change)(answer)
	body, err := json.Marshal(answer)
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, err
}

// remember returns where the last answer that grants the license is kept.
func (r *relay) remember() *map[string]any {
	var last map[string]any
	change := func(answer map[string]any) {
		if answer["valid"] == true {
			last = answer
		}
	}
	r.change.Store(&change)
	return &last
}

// trusting returns the options of a program that pins the keys of the vendor,
// and asks for files of one day.
func (s stage) trusting() (client.ProgramOptions, *relay) {
	s.Helper()
	resp, err := s.vendor.HTTPClient().Get("http://licensing.test/licensing/file/keys")
	s.NoErr(err)
	jwks, err := io.ReadAll(resp.Body)
	s.NoErr(err)
	keys, err := licensefile.ParseKeys(jwks)
	s.NoErr(err)
	s.vendor.Requests()
	r := &relay{s: s}
	o := s.options("pc-1")
	o.HTTPClient = &http.Client{Transport: r}
	o.Trust, o.State, o.Offline = keys, client.Dir(s.TempDir()), day
	return o, r
}

func (s stage) forever() { s.update(license.UpdateParams{ExpiresAt: license.ToNull[time.Time]()}) }

// TestTrust walks: a file arrives with the activation, is replaced at half of
// its lifetime only, and counts without the service until it expires, also
// after a restart.
func TestTrust(t *testing.T) {
	onStage(t, func(s stage) {
		is := s.I
		s.forever()
		o, r := s.trusting()
		dir := s.TempDir()
		o.State = client.Dir(dir)
		p := s.open(o)
		st := p.Status()
		is.True(st.Valid)
		is.Equal(st.Source, client.SourceFile)
		is.True(st.GraceUntil.Equal(time.Now().Add(day)))
		is.Equal(s.vendor.Requests(), []string{"/license/validate", "/license/activate", "/file/revocations"})
		is.Equal(r.files.Load(), int64(2))
		is.True(p.Has("export"))

		r.files.Store(0)
		r.lists.Store(0)
		time.Sleep(day * 4 / 10)
		for range 10 {
			is.NoErr(p.Refresh(s.Context()))
		}
		is.Equal(r.files.Load(), int64(0))
		is.Equal(r.lists.Load(), int64(0))
		time.Sleep(2 * day)
		require.AtLeast(s.T, r.files.Load(), 4)
		require.AtMost(s.T, r.files.Load(), 6) // two a day
		require.AtLeast(s.T, r.lists.Load(), 1)
		require.AtMost(s.T, r.lists.Load(), 3) // one a day
		is.Equal(warnings(p), nil)
		stored, err := filepath.Glob(filepath.Join(dir, "*.license"))
		is.NoErr(err)
		is.Equal(len(stored), 1)

		s.vendor.Die()
		is.True(p.Refresh(s.Context()) != nil)
		end := p.Status().GraceUntil
		require.Greater(s.T, time.Until(end), day*9/20)
		is.NoErr(p.Close())
		p = s.open(o)
		is.True(p.Status().Valid)
		is.Equal(warnings(p), []client.Code{client.CodeUnreachable})
		time.Sleep(time.Until(end))
		is.Equal(p.Status().Code, client.CodeFileExpired)
		s.vendor.Answer()
		time.Sleep(5*time.Minute + time.Second)
		is.True(p.Status().Valid)
		is.Equal(warnings(p), nil)
	})
}

// TestTrustPolicy is the table of the guide for programs with Trust and URL:
// what a valid program is after a check, after its file has expired, and after
// a restart right after that check without the service.
func TestTrustPolicy(t *testing.T) {
	move := func(move func(*license.Service, context.Context, license.MoveParams) (license.License, error)) func(stage, *relay) {
		return func(s stage, _ *relay) {
			_, err := move(s.service(), s.Context(), license.MoveParams{ID: s.license.ID})
			s.NoErr(err)
		}
	}
	_, foreign, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		event                  func(stage, *relay)
		then, later, restarted client.Code
		warning                client.Code
	}{
		"server unreachable": {func(s stage, _ *relay) { s.vendor.Die() }, "valid", "file_expired", "valid", "unreachable"},
		"5xx":                {func(s stage, _ *relay) { s.vendor.Lie(500, "text/plain", "oh no") }, "valid", "file_expired", "valid", "unreachable"},
		"captive portal":     {func(s stage, _ *relay) { s.vendor.Lie(200, "text/html", "<p>Pay.</p>") }, "valid", "file_expired", "valid", "unreachable"},
		"unknown key": {func(s stage, _ *relay) {
			s.vendor.Lie(200, "application/json", `{"valid":false,"code":"not_found","reasons":[{"code":"not_found","detail":"No license has this key."}],"recheck_after":3600}`)
		}, "valid", "file_expired", "valid", "not_found"},
		"suspended": {move((*license.Service).Suspend), "suspended", "suspended", "revoked", ""},
		"revoked":   {move((*license.Service).Revoke), "revoked", "revoked", "revoked", ""},
		"expired": {func(s stage, _ *relay) {
			s.update(license.UpdateParams{ExpiresAt: license.To(time.Now().Add(-day)), GraceSeconds: new(int64(0))})
		}, "expired", "expired", "file_outdated", ""},
		"evicted": {func(s stage, _ *relay) { s.evict("pc-1") }, "evicted", "evicted", "valid", ""},
		"a lie without a file": {func(s stage, _ *relay) {
			s.vendor.Lie(200, "application/json", `{"valid":true,"code":"valid","reasons":[],"license":{"id":"lic_1","entitlements":{"export":true,"all":true}},"recheck_after":3600}`)
		}, "valid", "file_expired", "valid", "untrusted"},
		"a lie with a foreign key": {func(s stage, r *relay) {
			s.update(license.UpdateParams{Entitlements: license.To(map[string]any{"all": true})})
			change := func(answer map[string]any) {
				text, ok := answer["file"].(string)
				if !ok {
					return
				}
				parts := strings.Split(text, ".")
				payload, err := base64.RawURLEncoding.DecodeString(parts[1])
				s.NoErr(err)
				var c licensefile.Claims
				s.NoErr(c.UnmarshalJSON(payload))
				answer["file"], err = licensefile.Sign(c, foreign)
				s.NoErr(err)
			}
			r.change.Store(&change)
		}, "valid", "file_expired", "valid", "untrusted"},
	} {
		t.Run(name, func(t *testing.T) {
			onStage(t, func(s stage) {
				s.forever()
				o, r := s.trusting()
				p := s.open(o)
				s.True(p.Status().Valid)
				tt.event(s, r)
				time.Sleep(day/2 + time.Minute) // a check
				st := p.Status()
				s.Equal(st.Code, tt.then)
				s.Equal(st.Valid, tt.then == client.CodeValid)
				s.True(!p.Has("all"))
				s.Equal(st.Source == client.SourceFile, st.Valid)
				var want []client.Code
				if tt.warning != "" {
					want = []client.Code{tt.warning}
				}
				s.Equal(warnings(p), want)

				dead := o
				dead.HTTPClient = &http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) { return nil, errors.New("no network") })}
				dead.StartWait = -1
				restarted := s.open(dead)
				s.Equal(restarted.Status().Code, tt.restarted)
				s.NoErr(restarted.Close())

				time.Sleep(day)
				s.Equal(p.Status().Code, tt.later)
				s.True(!p.Status().Valid)
			})
		})
	}
}

// TestTrustAtTheStart: what a new installation is that has no file yet.
func TestTrustAtTheStart(t *testing.T) {
	for name, tt := range map[string]struct {
		event func(stage, *client.ProgramOptions)
		code  client.Code
	}{
		"server unreachable": {func(s stage, o *client.ProgramOptions) { s.vendor.Die() }, client.CodeUnreachable},
		"no wait":            {func(s stage, o *client.ProgramOptions) { o.StartWait = -1 }, client.CodeUnreachable},
		"no key":             {func(s stage, o *client.ProgramOptions) { o.Key = "" }, client.CodeNoKey},
		"unknown key":        {func(s stage, o *client.ProgramOptions) { o.Key = "AAAAA" }, client.CodeNotFound},
		"other product":      {func(s stage, o *client.ProgramOptions) { o.ProductID = "borealis" }, client.CodeProductMismatch},
		"a lie": {func(s stage, o *client.ProgramOptions) {
			s.vendor.Lie(200, "application/json", `{"valid":true,"code":"valid","reasons":[],"license":{"id":"lic_1"},"recheck_after":60}`)
		}, client.CodeUntrusted},
		"other keys": {func(s stage, o *client.ProgramOptions) {
			pub, _, err := ed25519.GenerateKey(nil)
			s.NoErr(err)
			o.Trust, err = licensefile.NewKeySet(pub)
			s.NoErr(err)
		}, client.CodeUntrusted},
	} {
		t.Run(name, func(t *testing.T) {
			onStage(t, func(s stage) {
				o, _ := s.trusting()
				tt.event(s, &o)
				p := s.open(o)
				s.Equal(p.Status().Code, tt.code)
				s.True(!p.Status().Valid)
				require.ErrorIs(s.T, p.Err(), tt.code)
				s.Equal(warnings(p), nil)
				s.Equal(errors.Is(p.Status().CheckError, client.CodeUntrusted), tt.code == client.CodeUntrusted)
			})
		})
	}
}

// TestTrustReplay: an answer of last week has another nonce.
func TestTrustReplay(t *testing.T) {
	onStage(t, func(s stage) {
		is := s.I
		s.forever()
		o, r := s.trusting()
		old := r.remember()
		p := s.open(o)
		is.True(p.Status().Valid)
		text, err := json.Marshal(*old)
		is.NoErr(err)
		_, err = s.service().Suspend(s.Context(), license.MoveParams{ID: s.license.ID})
		is.NoErr(err)
		is.NoErr(p.Refresh(s.Context()))
		is.Equal(p.Status().Code, client.CodeSuspended)

		s.vendor.Lie(200, "application/json", string(text))
		err = p.Refresh(s.Context())
		require.ErrorIs(s.T, err, client.CodeUntrusted)
		require.ErrorIs(s.T, err, licensefile.ErrNonce)
		is.Equal(p.Status().Code, client.CodeSuspended) // only a new file ends a denial
		is.Equal(warnings(p), []client.Code{client.CodeUntrusted})

		fresh := o
		fresh.State = client.Dir(s.TempDir())
		is.Equal(s.open(fresh).Status().Code, client.CodeUntrusted)
		s.vendor.Lie(200, "application/json", `{"valid":false,"code":"not_found","reasons":[]}`)
		require.ErrorIs(s.T, p.Refresh(s.Context()), client.CodeUnexpectedResponse)
		s.vendor.Lie(200, "application/json", `{"valid":false,"code":"not_found","reasons":[{"code":"not_found"}]}`)
		is.NoErr(p.Refresh(s.Context()))
		is.Equal(p.Status().Code, client.CodeSuspended) // which not_found does not end either
	})
}

// TestTrustReinstated: the list of the suspension is replaced, and a new file
// arrives by itself.
func TestTrustReinstated(t *testing.T) {
	onStage(t, func(s stage) {
		s.forever()
		o, _ := s.trusting()
		p := s.open(o)
		_, err := s.service().Suspend(s.Context(), license.MoveParams{ID: s.license.ID})
		s.NoErr(err)
		time.Sleep(day)
		s.Equal(p.Status().Code, client.CodeSuspended)
		_, err = s.service().Reinstate(s.Context(), license.MoveParams{ID: s.license.ID})
		s.NoErr(err)
		time.Sleep(time.Hour + 5*time.Minute)
		s.Equal(p.Status().Code, client.CodeValid)
		s.Equal(warnings(p), nil)
	})
}

// TestTrustRefusedList: a revocation list that does not count, here one of a clock
// that was far ahead, is a warning until the service has a good one.
func TestTrustRefusedList(t *testing.T) {
	onStage(t, func(s stage) {
		s.forever()
		o, r := s.trusting()
		public, private, err := ed25519.GenerateKey(nil)
		s.NoErr(err)
		mine, err := licensefile.NewKeySet(public)
		s.NoErr(err)
		o.Trust = joined(s.T, mine, o.Trust)
		ahead := time.Now().Add(400 * day)
		list, err := licensefile.SignRevocations(licensefile.Revocations{
			ProductID: "atlas", Sequence: ahead.UnixMilli(), IssuedAt: ahead, ExpiresAt: ahead.Add(7 * day),
		}, private)
		s.NoErr(err)
		r.list.Store(&list)
		p := s.open(o)
		s.True(p.Status().Valid)
		s.Equal(warnings(p), []client.Code{client.CodeFileSkipped})
		require.Contains(s.T, p.Status().Warnings[0].Detail, licensefile.ErrListAhead.Error())
		r.list.Store(nil)
		s.NoErr(p.Refresh(s.Context()))
		s.Equal(warnings(p), nil)
	})
}

// joined returns the keys of two sets.
func joined(t *testing.T, sets ...*licensefile.KeySet) *licensefile.KeySet {
	t.Helper()
	var all struct {
		Keys []json.RawMessage `json:"keys"`
	}
	for _, set := range sets {
		var one struct{ Keys []json.RawMessage }
		data, err := json.Marshal(set)
		if err == nil {
			err = json.Unmarshal(data, &one)
		}
		if err != nil {
			t.Fatal(err)
		}
		all.Keys = append(all.Keys, one.Keys...)
	}
	data, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	keys, err := licensefile.ParseKeys(data)
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

// TestTrustChangedLicense: a change arrives with a new file at the next check.
func TestTrustChangedLicense(t *testing.T) {
	onStage(t, func(s stage) {
		o, r := s.trusting()
		p := s.open(o)
		r.files.Store(0)
		time.Sleep(time.Minute)
		s.update(license.UpdateParams{Entitlements: license.To(map[string]any{"export": true, "import": true, "users": 5, "tier": "gold"})})
		s.NoErr(p.Refresh(s.Context()))
		s.True(p.Has("import"))
		s.Equal(r.files.Load(), int64(1))
		time.Sleep(time.Minute)
		_, err := s.service().Renew(s.Context(), license.RenewParams{ID: s.license.ID, ExpiresAt: new(time.Now().Add(365 * day))})
		s.NoErr(err)
		s.NoErr(p.Refresh(s.Context()))
		s.True(p.Status().ExpiresAt.Equal(time.Now().Add(365 * day)))
		s.Equal(r.files.Load(), int64(2))
		s.NoErr(p.Refresh(s.Context()))
		s.Equal(r.files.Load(), int64(2))
	})
}

// TestTrustSetKey: the files of another license no longer count.
func TestTrustSetKey(t *testing.T) {
	onStage(t, func(s stage) {
		is := s.I
		o, _ := s.trusting()
		s.update(license.UpdateParams{Entitlements: license.To(map[string]any{"import": true})}) // a higher generation
		p := s.open(o)
		other, err := s.service().Create(s.Context(), license.CreateParams{
			Name: "Atlas Solo", ProductID: "atlas", CustomerID: "cus_1", Entitlements: map[string]any{"solo": true},
		})
		is.NoErr(err)
		is.NoErr(p.SetKey(s.Context(), other.Key))
		is.Equal(p.Status().LicenseID, other.ID)
		is.True(p.Has("solo"))
		is.NoErr(p.Close())
		s.vendor.Die()
		o.Key, o.StartWait = other.Key, -1
		is.Equal(s.open(o).Status().LicenseID, other.ID)
	})
}

// TestTrustReplayAfterADenial: the stored file, which no list refuses, does not
// make a repeated old answer count.
func TestTrustReplayAfterADenial(t *testing.T) {
	onStage(t, func(s stage) {
		o, r := s.trusting()
		old := r.remember()
		p := s.open(o)
		text, err := json.Marshal(*old)
		s.NoErr(err)
		s.evict("pc-1")
		s.NoErr(p.Refresh(s.Context()))
		s.Equal(p.Status().Code, client.CodeEvicted)
		s.vendor.Lie(200, "application/json", string(text))
		require.ErrorIs(s.T, p.Refresh(s.Context()), client.CodeUntrusted)
		s.Equal(p.Status().Code, client.CodeEvicted)
	})
}

// TestTrustChangedFingerprint: a program whose fingerprint has changed takes no
// second seat by itself, with or without the service.
func TestTrustChangedFingerprint(t *testing.T) {
	onStage(t, func(s stage) {
		is := s.I
		s.forever()
		active := func() (all []string) {
			page, err := s.service().ListActivations(s.Context(), license.ListActivationsParams{LicenseID: s.license.ID})
			is.NoErr(err)
			for _, a := range page.Data {
				all = append(all, a.Fingerprint)
			}
			return all
		}
		o, _ := s.trusting()
		p := s.open(o)
		is.True(p.Status().Valid)
		is.NoErr(p.Close())

		moved := o
		moved.Fingerprint = "pc-2"
		p = s.open(moved)
		is.Equal(p.Status().Code, client.CodeFingerprintChanged)
		is.Equal(warnings(p), nil)
		time.Sleep(2 * day) // longer than the file of pc-1
		is.NoErr(p.Refresh(s.Context()))
		is.Equal(p.Status().Code, client.CodeFingerprintChanged)
		is.Equal(active(), []string{"pc-1"})
		is.NoErr(p.Close())

		s.vendor.Die()
		p = s.open(moved)
		is.Equal(p.Status().Code, client.CodeFingerprintChanged)
		s.vendor.Answer()

		// The user enters the key again.
		is.NoErr(p.SetKey(s.Context(), moved.Key))
		is.True(p.Status().Valid)
		is.Equal(active(), []string{"pc-1", "pc-2"})
		is.NoErr(p.Close())
		for _, again := range []client.ProgramOptions{o, moved} { // both are known
			p = s.open(again)
			is.True(p.Status().Valid)
			is.NoErr(p.Close())
		}

		// The key of another license takes a seat of that license.
		other, err := s.service().Create(s.Context(), license.CreateParams{Name: "Atlas Solo", ProductID: "atlas", CustomerID: "cus_1"})
		is.NoErr(err)
		o.Fingerprint, o.Key = "pc-3", other.Key
		is.True(s.open(o).Status().Valid)
	})
}
