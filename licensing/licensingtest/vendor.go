package licensingtest

import (
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// VendorURL is the URL of every [Vendor].
const VendorURL = "http://licensing.test/licensing"

// A Vendor is a licensing service that answers, lies, stalls or dies, as a
// test says, for the tests of programs that use licensing/program. It is not on
// a network: give its HTTPClient to the program, and VendorURL. Its clock is
// time.Now, which a bubble of testing/synctest replaces. It is safe for
// concurrent use. Create one with [NewVendor].
type Vendor struct {
	// Handler is the service, with an empty store in memory. Create licenses with
	// Handler.Service(), and approve a program.Link with the Customer method of that.
	Handler *licensing.Handler

	mu       sync.Mutex
	answer   func(*http.Request) (*http.Response, error)
	requests []string
}

// NewVendor returns a Vendor that answers.
func NewVendor(t testing.TB) *Vendor {
	t.Helper()
	v := &Vendor{Handler: licensing.NewHandler(memory.New(), licensing.Options{
		Logger: slog.New(slog.DiscardHandler), PortalURL: "http://licensing.test/account/licenses",
	})}
	v.Answer()
	return v
}

// HTTPClient returns an HTTP client whose requests reach v, whatever their host.
func (v *Vendor) HTTPClient() *http.Client { return &http.Client{Transport: vendorTransport{v}} }

// Keys returns the public keys of license files, which a program embeds.
func (v *Vendor) Keys(t testing.TB) []byte {
	t.Helper()
	w := httptest.NewRecorder()
	v.Handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/file/keys", nil))
	if w.Code != http.StatusOK {
		t.Fatalf("GET /file/keys: %d %s", w.Code, w.Body)
	}
	return w.Body.Bytes()
}

// Answer makes the service answer from now on.
func (v *Vendor) Answer() {
	mounted := http.StripPrefix("/licensing", v.Handler)
	v.become(func(r *http.Request) (*http.Response, error) {
		w := httptest.NewRecorder()
		mounted.ServeHTTP(w, r)
		return w.Result(), nil
	})
}

// Lie makes each request get this response from now on, and have no effect.
func (v *Vendor) Lie(status int, contentType, body string) {
	v.become(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {contentType}}, Body: io.NopCloser(strings.NewReader(body))}, nil
	})
}

// Stall makes each request wait until its context ends, from now on.
func (v *Vendor) Stall() {
	v.become(func(r *http.Request) (*http.Response, error) {
		<-r.Context().Done()
		return nil, r.Context().Err()
	})
}

// Die makes each connection fail from now on.
func (v *Vendor) Die() {
	v.become(func(*http.Request) (*http.Response, error) {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}
	})
}

// Requests returns the paths of all requests so far, below VendorURL, and
// forgets them.
func (v *Vendor) Requests() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	paths := v.requests
	v.requests = nil
	return paths
}

func (v *Vendor) become(answer func(*http.Request) (*http.Response, error)) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.answer = answer
}

// A vendorTransport hands the requests of an HTTP client to a Vendor.
type vendorTransport struct{ v *Vendor }

func (t vendorTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	t.v.mu.Lock()
	answer := t.v.answer
	t.v.requests = append(t.v.requests, strings.TrimPrefix(r.URL.Path, "/licensing"))
	t.v.mu.Unlock()
	resp, err := answer(r)
	if resp != nil {
		resp.Request = r
	}
	return resp, err
}
