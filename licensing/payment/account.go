package payment

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/selling"
)

// An account is an account at a provider, and the sales that hear of it.
type account struct {
	provider string
	url      string
	key      string
	client   *http.Client
	header   map[string]string
	states   map[string]api.PurchaseState // see the field States of a provider
	sales    *selling.Service
	after    string // the parameter of a list that names the last object of the page before
	patient  bool   // waits when the provider says so; a webhook cannot
}

// defaultClient reads from providers, which wait for 5 to 10 seconds for the answer to an
// event.
var defaultClient = &http.Client{Timeout: 10 * time.Second}

const (
	maxTries = 5
	maxWait  = 10 * time.Minute // for a provider that asks to wait
)

func (a account) now() time.Time { return inner.Of(a.sales).Now() }

// get reads an object. No error has the key.
func (a account) get(ctx context.Context, path string, query url.Values, object any) error {
	address := strings.TrimSuffix(a.url, "/") + path
	if len(query) > 0 {
		address += "?" + query.Encode()
	}
	for try := 1; ; try++ {
		wait, err := a.try(ctx, address, path, object)
		if wait < 0 || !a.patient || try == maxTries || wait > maxWait {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wait):
		}
	}
}

// try reads an object once. If that may succeed later, wait is how long it takes; otherwise it
// is negative.
func (a account) try(ctx context.Context, address, path string, object any) (wait time.Duration, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return -1, err
	}
	r.Header.Set("Authorization", "Bearer "+a.key)
	for name, value := range a.header {
		r.Header.Set(name, value)
	}
	resp, err := cmp.Or(a.client, defaultClient).Do(r)
	if err != nil {
		return -1, fmt.Errorf("%s: %w", a.provider, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 16<<20))
	if err == nil && resp.StatusCode != http.StatusOK {
		text := strings.ReplaceAll(strings.Join(strings.Fields(string(body)), " "), cmp.Or(a.key, "\x00"), "…")
		return retryAfter(resp), &answerError{resp.StatusCode, fmt.Sprintf("%s: GET %s: %d: %.300s", a.provider, path, resp.StatusCode, text)}
	}
	if err == nil {
		err = json.Unmarshal(body, object)
	}
	if err != nil {
		return -1, fmt.Errorf("%s: GET %s: %w", a.provider, path, err)
	}
	return -1, nil
}

// An answerError is an answer of a provider other than 200.
type answerError struct {
	status int
	text   string
}

func (e *answerError) Error() string { return e.text }

// retryAfter returns how long to wait after an answer; negative: another request is of no use.
func retryAfter(resp *http.Response) time.Duration {
	if resp.StatusCode != http.StatusTooManyRequests && resp.StatusCode != http.StatusServiceUnavailable {
		return -1
	}
	text := resp.Header.Get("Retry-After")
	if seconds, err := strconv.Atoi(text); err == nil && seconds >= 0 {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, time.Until(at))
	}
	return 2 * time.Second
}

// A stateError is a state that a provider reports and this package does not know.
type stateError struct{ provider, of, state string }

func (e *stateError) Error() string {
	return fmt.Sprintf("%s: the state %q of %s is unknown; name its meaning in States, or update this program", e.provider, e.state, e.of)
}

// state returns the meaning of a state of an object: that in States, or the known one. An empty
// one says nothing.
func (a account) state(known map[string]api.PurchaseState, object, state string) (api.PurchaseState, error) {
	if meaning, ok := a.states[state]; ok {
		return meaning, nil
	}
	if meaning, ok := known[state]; ok {
		return meaning, nil
	}
	return "", &stateError{a.provider, object, state}
}

// isRefused reports whether the rules refuse what an event says for good.
func isRefused(err error) bool {
	_, isInvalid := errors.AsType[*api.InvalidError](err)
	return isInvalid || errors.Is(err, api.ErrReferenceTaken)
}
