package servicetest

import (
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/files"
	"github.com/seed-d8a106b4/licensekit/licensing/program"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// A closedNetwork has the office of a customer, and programs that have only the keys of the
// vendor. It is for a bubble of testing/synctest.
type closedNetwork struct {
	*is.I
	t       *testing.T
	vendor  *licensing.Handler
	license api.License
	keys    []byte             // of the vendor
	key     ed25519.PrivateKey // of the office
	store   *memory.Store      // of the office
	lease   time.Duration      // of the seats that the office lends
	office  atomic.Pointer[licensing.Handler]
	ahead   atomic.Int64 // by how many nanoseconds the clock of the office is ahead
}

// newClosedNetwork creates a vendor with a license for the network, and no office yet.
func newClosedNetwork(t *testing.T, terms api.Terms) *closedNetwork {
	t.Helper()
	n := &closedNetwork{I: is.New(t), t: t, key: officeKey('o'), store: memory.New(), lease: time.Hour}
	n.vendor = licensing.NewHandler(memory.New(), licensing.Options{Logger: slog.New(slog.DiscardHandler)})
	pinned, err := n.vendor.Files().KeySet(t.Context())
	n.NoErr(err)
	n.keys, err = json.Marshal(pinned)
	n.NoErr(err)
	n.license, err = n.vendor.Service().Create(t.Context(), api.CreateLicenseParams{Name: "Acme Ltd", ProductID: "atlas", CustomerID: "cus_1", Terms: terms})
	n.NoErr(err)
	return n
}

// answer carries the request of the office for some seats to the vendor, and returns the
// answer, which is valid for some hours.
func (n *closedNetwork) answer(seats int64, hours int) string {
	n.t.Helper()
	f, err := n.vendor.Service().IssueFile(n.t.Context(), api.IssueFileParams{
		LicenseID: n.license.ID, Request: officeRequest(n.t, n.license.Key, seats, n.key), Lifetime: api.Duration{Hours: hours},
	})
	n.NoErr(err)
	text, err := n.vendor.Files().Sign(n.t.Context(), *f.FileClaims())
	n.NoErr(err)
	return text
}

// run runs the office with an answer of the vendor for some seats.
func (n *closedNetwork) run(answer string, seats int64) {
	n.t.Helper()
	h := licensing.NewHandler(n.store, licensing.Options{
		Logger: slog.New(slog.DiscardHandler), SigningKeys: []files.SigningKey{{Signer: n.key, Office: answer}}, Now: n.officeTime,
	})
	if n.office.Swap(h) != nil {
		_, err := h.Service().Update(n.t.Context(), api.UpdateLicenseParams{ID: n.license.ID, MaxActivations: api.To(seats)})
		n.NoErr(err)
		return
	}
	row := fmt.Sprintf(`{"id":%q,"key":%q,"name":"Acme Ltd","product_id":"atlas","customer_id":"office","max_activations":%d,"lease_seconds":%d}`,
		n.license.ID, n.license.Key, seats, n.lease/time.Second)
	n.NoErr(h.Service().Import(n.t.Context(), strings.NewReader(row), func(r api.RowResult) error {
		n.Equal(len(r.Errors), 0)
		return nil
	}))
}

// officeTime returns the time by the clock of the office.
func (n *closedNetwork) officeTime() time.Time { return time.Now().Add(time.Duration(n.ahead.Load())) }

// A lentProgram is a program in the network, whose cable can be pulled.
type lentProgram struct {
	*program.License
	opts  program.Options
	cable *cable
}

// open starts a program on a machine.
func (n *closedNetwork) open(machine string) lentProgram {
	n.t.Helper()
	c := &cable{network: n}
	return n.start(lentProgram{cable: c, opts: program.Options{
		URL: "http://office.test", Keys: n.keys, ProductID: "atlas", Key: n.license.Key, Fingerprint: machine,
		Dir: filepath.Join(n.t.TempDir(), "license"), HTTPClient: &http.Client{Transport: c},
	}})
}

// start starts a program, as it was opened before or for the first time.
func (n *closedNetwork) start(p lentProgram) lentProgram {
	n.t.Helper()
	l, err := program.Open(p.opts)
	n.NoErr(err)
	n.t.Cleanup(func() { l.Close() })
	p.License = l
	return p
}

// refuses checks that no seat is free.
func (n *closedNetwork) refuses() {
	n.t.Helper()
	p := n.open("refused")
	n.Equal(p.Status().Code, api.VerdictActivationLimit)
	n.NoErr(p.Close())
}

// valid counts the programs that are valid.
func valid(programs ...lentProgram) (count int) {
	for _, p := range programs {
		if p.Status().Valid {
			count++
		}
	}
	return count
}

// A cable carries the requests of a program to the office.
type cable struct {
	network *closedNetwork
	pulled  atomic.Bool
	asked   atomic.Int64 // requests with the license key
}

func (c *cable) RoundTrip(r *http.Request) (*http.Response, error) {
	if c.pulled.Load() {
		return nil, http.ErrServerClosed
	}
	if r.Method == http.MethodPost {
		c.asked.Add(1)
	}
	w := httptest.NewRecorder()
	w.Header().Set("Date", c.network.officeTime().UTC().Format(http.TimeFormat))
	c.network.office.Load().ServeHTTP(w, r)
	return w.Result(), nil
}
