package program

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
	"github.com/seed-d8a106b4/licensekit/licensing/licensingtest"
)

const day = 24 * time.Hour

// A stage is a vendor with one license, in a bubble of synctest, and the machines
// that use it.
type stage struct {
	*testing.T
	*is.I
	vendor  *licensingtest.Vendor
	keys    []byte
	license api.License

	mu      sync.Mutex
	off     time.Duration                                 // of the clock of the machines
	sent    []sentRequest                                 // by the machines
	meddler func(*http.Request, func() answerOf) answerOf // changes answers; nil: none
}

// A sentRequest is a request that reached the vendor, or got lost.
type sentRequest struct {
	at   time.Time
	path string
	file bool // asks for a license file
}

// An answerOf is the answer of a transport.
type answerOf struct {
	resp *http.Response
	err  error
}

// onStage runs a test with a license that has two seats and does not expire.
func onStage(t *testing.T, test func(s *stage)) {
	t.Parallel() // much of the time is spent on files
	synctest.Test(t, func(t *testing.T) {
		s := &stage{T: t, I: is.New(t), vendor: licensingtest.NewVendor(t)}
		s.keys = s.vendor.Keys(t)
		var err error
		s.license, err = s.service().Create(t.Context(), api.CreateLicenseParams{
			Name: "Acme Ltd", ProductID: "atlas", CustomerID: "cus_1",
			Terms: api.Terms{MaxActivations: new(int64(2)), Entitlements: map[string]any{"export": true, "users": 5, "tier": "gold"}},
		})
		s.NoErr(err)
		test(s)
	})
}

func (s *stage) service() *license.Service { return s.vendor.Handler.Service() }

// RoundTrip carries a request of a machine to the vendor, whose answers have a
// date.
func (s *stage) RoundTrip(req *http.Request) (*http.Response, error) {
	var body []byte
	if req.Body != nil {
		body, _ = io.ReadAll(req.Body)
		req.Body = io.NopCloser(bytes.NewReader(body))
	}
	s.mu.Lock()
	meddler := s.meddler
	s.sent = append(s.sent, sentRequest{time.Now(), strings.TrimPrefix(req.URL.Path, "/licensing"), bytes.Contains(body, []byte(`"nonce"`))})
	s.mu.Unlock()
	carry := func() answerOf {
		resp, err := s.vendor.HTTPClient().Transport.RoundTrip(req)
		if err == nil {
			resp.Header.Set("Date", time.Now().UTC().Format(http.TimeFormat))
		}
		return answerOf{resp, err}
	}
	if meddler != nil {
		a := meddler(req, carry)
		return a.resp, a.err
	}
	a := carry()
	return a.resp, a.err
}

// meddle changes the answers from now on.
func (s *stage) meddle(with func(*http.Request, func() answerOf) answerOf) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.meddler = with
}

// requests returns what the machines have sent, and forgets it.
func (s *stage) requests() []sentRequest {
	s.mu.Lock()
	defer s.mu.Unlock()
	sent := s.sent
	s.sent = nil
	return sent
}

func paths(sent []sentRequest) (paths []string) {
	for _, r := range sent {
		paths = append(paths, r.path)
	}
	return paths
}

// wall is the clock of the machines.
func (s *stage) wall() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Now().Round(0).Add(s.off)
}

// setClock sets the clock of the machines.
func (s *stage) setClock(off time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.off = off
}

// A box is a machine with one installation.
type box struct {
	*stage
	machine machine
	opts    Options
	changes []api.Code // that OnChange got
}

// box returns a machine with an ID.
func (s *stage) box(id string) *box {
	b := &box{stage: s, machine: machineWithID(id)}
	b.opts = Options{
		URL: licensingtest.VendorURL, Keys: s.keys, ProductID: "atlas", Key: s.license.Key, Dir: filepath.Join(tempDir(s.T), "license"),
		Name: id, HTTPClient: &http.Client{Transport: s}, OnChange: func(st Status) {
			s.mu.Lock() // two processes may share a box
			defer s.mu.Unlock()
			b.changes = append(b.changes, st.Code)
		},
	}
	return b
}

// tempDir returns a directory that is removed after the test. Wine has not all of what
// os.RemoveAll, and so testing.T, needs of Windows.
func tempDir(t testing.TB) string {
	t.Helper()
	if runtime.GOOS != "windows" {
		return t.TempDir()
	}
	dir, err := os.MkdirTemp("", "program")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		var found []string
		filepath.WalkDir(dir, func(path string, _ fs.DirEntry, _ error) error {
			found = append(found, path)
			return nil
		})
		for _, path := range slices.Backward(found) {
			if err := os.Remove(path); err != nil {
				t.Error(err)
			}
		}
	})
	return dir
}

// machineWithID returns a machine that runs Linux.
func machineWithID(id string) machine {
	nothing := func() string { return "" }
	return machine{func(string) string { return id + strings.Repeat("0", 32-len(id)) }, nothing, nothing}
}

// open starts the program, which ends with the test.
func (b *box) open() *License {
	b.Helper()
	l, err := open(b.opts, b.machine, b.wall)
	b.NoErr(err)
	b.Cleanup(func() { l.Close() })
	return l
}

// restart ends a program and starts it again.
func (b *box) restart(l *License) *License {
	b.Helper()
	b.NoErr(l.Close())
	return b.open()
}

// files returns the names in the directory.
func (b *box) files() (names []string) {
	entries, err := os.ReadDir(b.opts.Dir)
	if !errors.Is(err, os.ErrNotExist) {
		b.NoErr(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// seats returns the names of the activations that use a seat.
func (s *stage) seats() (names []string) {
	s.Helper()
	page, err := s.service().ListActivations(s.Context(), api.ListActivationsParams{LicenseID: s.license.ID})
	s.NoErr(err)
	for _, a := range page.Data {
		names = append(names, a.Name)
	}
	slices.Sort(names)
	return names
}

// offline sets for how long license files are valid.
func (s *stage) offline(d time.Duration) {
	s.Helper()
	s.update(api.UpdateLicenseParams{OfflineSeconds: api.To(int64(d.Seconds()))})
}

func (s *stage) update(p api.UpdateLicenseParams) {
	s.Helper()
	p.ID = s.license.ID
	_, err := s.service().Update(s.Context(), p)
	s.NoErr(err)
}

type move func(*license.Service, context.Context, api.ChangeStateParams) (api.License, error)

// move changes the state of the license.
func (s *stage) move(m move, reason string) {
	s.Helper()
	_, err := m(s.service(), s.Context(), api.ChangeStateParams{ID: s.license.ID, Reason: reason})
	s.NoErr(err)
}

// refuse makes connections fail as they do while nothing listens.
func refuse(*http.Request, func() answerOf) answerOf {
	return answerOf{nil, &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}}
}

// respond returns a meddler that answers everything alike.
func respond(status int, contentType, body string, header ...string) func(*http.Request, func() answerOf) answerOf {
	return func(*http.Request, func() answerOf) answerOf {
		h := http.Header{"Content-Type": {contentType}}
		for i := 0; i < len(header); i += 2 {
			h.Set(header[i], header[i+1])
		}
		return answerOf{&http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(body))}, nil}
	}
}

// change returns a meddler that changes verdicts.
func change(with func(verdict map[string]any)) func(*http.Request, func() answerOf) answerOf {
	return func(_ *http.Request, carry func() answerOf) answerOf {
		a := carry()
		if a.err != nil || !strings.HasPrefix(a.resp.Header.Get("Content-Type"), "application/json") {
			return a
		}
		var verdict map[string]any
		if a.err = json.NewDecoder(a.resp.Body).Decode(&verdict); a.err == nil {
			with(verdict)
			var body []byte
			body, a.err = json.Marshal(verdict)
			a.resp.Body = io.NopCloser(bytes.NewReader(body))
		}
		return a
	}
}

func codes(warnings []Warning) (codes []api.Code) {
	for _, w := range warnings {
		codes = append(codes, w.Code)
	}
	return codes
}

// is checks the code of a status, and that Valid agrees.
func (s *stage) is(l *License, code api.Code, warnings ...api.Code) {
	s.Helper()
	st := l.Status()
	if st.Code != code || st.Valid != (code == api.VerdictValid || code == api.VerdictInGrace) {
		s.Errorf("the status is %s, valid %t, want %s", st.Code, st.Valid, code)
	}
	got := codes(st.Warnings)
	if !slices.Contains(warnings, CodeListStale) { // after a week without the service
		got = slices.DeleteFunc(got, func(c api.Code) bool { return c == CodeListStale })
	}
	if !slices.Equal(got, warnings) {
		s.Errorf("the warnings are %v, want %v", got, warnings)
	}
}

// newKey returns a signing key, and its public half as a JWKS.
func newKey(t *testing.T) (jwks []byte, key ed25519.PrivateKey) {
	t.Helper()
	public, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	set, err := licensefile.NewKeySet(public)
	if err != nil {
		t.Fatal(err)
	}
	if jwks, err = json.Marshal(set); err != nil {
		t.Fatal(err)
	}
	return jwks, key
}

// claimsOf reads a license file without verifying it.
func claimsOf(t *testing.T, text string) (c licensefile.Claims) {
	t.Helper()
	payload, err := base64.RawURLEncoding.DecodeString(strings.Split(text, ".")[1])
	if err == nil {
		err = c.UnmarshalJSON(payload)
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// signed returns a license file for a fingerprint, which lasts three days.
func signed(t *testing.T, key ed25519.PrivateKey, fingerprint string, change ...func(*licensefile.Claims)) string {
	t.Helper()
	now := time.Now().Truncate(time.Second)
	c := licensefile.Claims{
		ID: "file-1", LicenseID: "lic_1", ProductID: "atlas", Name: "Acme Ltd", Generation: 1, IssuedAt: now, NotBefore: now, ExpiresAt: now.Add(3 * day),
		FingerprintHash: licensefile.FingerprintHash("lic_1", fingerprint), Entitlements: map[string]any{"export": true},
	}
	for _, f := range change {
		f(&c)
	}
	text, err := licensefile.Sign(c, key)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// list returns a signed revocation list that was issued at a time.
func list(t *testing.T, key ed25519.PrivateKey, issued time.Time, change ...func(*licensefile.Revocations)) string {
	t.Helper()
	issued = issued.Truncate(time.Second)
	r := licensefile.Revocations{ProductID: "atlas", Sequence: issued.UnixMilli(), IssuedAt: issued, ExpiresAt: issued.Add(7 * day)}
	for _, f := range change {
		f(&r)
	}
	text, err := licensefile.SignRevocations(r, key)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
