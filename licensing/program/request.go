package program

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/version"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
)

const (
	requestTimeout = 15 * time.Second
	maxAnswer      = 1 << 20 // bytes of an answer in JSON
	maxRetryAfter  = time.Hour
	unknownRecheck = 60 * 60 // seconds, as the verdict on an unknown key says
)

// params are the members of the requests of a program: of api.ValidateKeyParams,
// api.ActivateKeyParams and api.DeactivateKeyParams, without the empty ones.
type params struct {
	Key         string `json:"key"`
	Fingerprint string `json:"fingerprint,omitempty"`
	ProductID   string `json:"product_id,omitempty"`
	Name        string `json:"name,omitempty"`
	TakeOver    string `json:"take_over,omitempty"`
	File        string `json:"file,omitempty"`
	Nonce       string `json:"nonce,omitempty"`

	PerProcess bool `json:"per_process,omitzero"`

	Metadata map[string]string `json:"metadata,omitempty"` // of an activation

	Entitlements []string `json:"entitlements,omitempty"` // of a validation

	BuiltAt time.Time `json:"built_at,omitzero"` // not of a deactivation
}

// A failure is a request that the service did not answer, or not with what was
// asked for.
type failure struct {
	text       string
	cause      error         // nil: there was a response of the service
	code       api.Code      // of a problem document; empty: none
	retryAfter time.Duration // 0: not said
}

func (e *failure) Error() string { return e.text }
func (e *failure) Unwrap() error { return e.cause }

// An answer is a verdict of the service.
type answer struct {
	api.Verdict
	date       time.Time     // the clock of the server, in whole seconds; zero: not said
	retryAfter time.Duration // 0: not said
}

// ask sends a request that is answered with a verdict, granted or not.
func (l *License) ask(ctx context.Context, path string, p params) (answer, error) {
	resp, body, err := l.post(ctx, path, p)
	if err != nil {
		return answer{}, err
	}
	a := answer{}
	if resp.StatusCode == http.StatusOK {
		err = json.Unmarshal(body, &a.Verdict)
	} else {
		problem := problemOf(body)
		err = refused(resp, problem)
		if problem.Verdict != nil && !problem.Verdict.Valid {
			a.Verdict, err = *problem.Verdict, nil
		} else if problem.Code == api.CodeNotFound { // the answer to the activation of an unknown key
			a.Verdict, err = api.Verdict{
				Code: api.VerdictNotFound, Reasons: []api.Reason{{Code: api.VerdictNotFound, Detail: problem.Detail}}, RecheckAfter: unknownRecheck,
			}, nil
		} else if i := slices.IndexFunc(problem.Errors, func(e api.FieldError) bool { return e.Pointer == "#/per_process" }); i >= 0 {
			a.Verdict, err = api.Verdict{
				Code: api.VerdictLeaseRequired, Reasons: []api.Reason{{Code: api.VerdictLeaseRequired, Detail: problem.Errors[i].Detail}}, RecheckAfter: unknownRecheck,
			}, nil
		}
	}
	if err == nil && (a.Code == "" || a.Valid && a.License == nil || !a.Valid && len(a.Reasons) == 0) {
		err = refused(resp, api.Problem{})
	}
	if err != nil {
		return answer{}, err
	}
	a.date, _ = http.ParseTime(resp.Header.Get("Date")) // zero if it is not valid
	a.retryAfter = retryAfter(resp.Header)
	return a, nil
}

// post sends a request, and returns the response with its body, which is JSON.
// Any other response is a failure.
func (l *License) post(ctx context.Context, path string, p any) (*http.Response, []byte, error) {
	body, err := json.Marshal(p)
	if err != nil {
		return nil, nil, err
	}
	resp, body, err := l.send(ctx, http.MethodPost, path, body, maxAnswer)
	if err != nil {
		return nil, nil, err
	}
	mediaType, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
	switch strings.ToLower(strings.TrimSpace(mediaType)) {
	case "application/json", "application/problem+json":
		return resp, body, nil
	}
	return nil, nil, refused(resp, api.Problem{})
}

// list fetches the revocation list of the product, or of one license.
func (l *License) list(ctx context.Context, licenseID string) (string, error) {
	l.mu.Lock()
	query := url.Values{"product_id": {l.product}}
	l.mu.Unlock()
	if licenseID != "" {
		query.Set("license_id", licenseID)
	}
	resp, body, err := l.send(ctx, http.MethodGet, "/file/revocations?"+query.Encode(), nil, licensefile.MaxListSize)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = refused(resp, problemOf(body))
	}
	return string(body), err
}

func (l *License) send(ctx context.Context, method, path string, body []byte, most int64) (*http.Response, []byte, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, l.opts.URL+path, bytes.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	req.Header.Set("User-Agent", version.UserAgent("licensekit-program"))
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := l.http.Do(req)
	if err == nil {
		defer resp.Body.Close()
		body, err = io.ReadAll(io.LimitReader(resp.Body, most))
	}
	if err != nil {
		return nil, nil, &failure{text: err.Error(), cause: err}
	}
	return resp, body, nil
}

// problemOf reads a problem document; the zero Problem: it is something else.
func problemOf(body []byte) (p api.Problem) {
	if json.Unmarshal(body, &p) != nil {
		return api.Problem{}
	}
	return p
}

// refused returns the failure of a response that is not what was asked for.
func refused(resp *http.Response, p api.Problem) error {
	e := &failure{code: p.Code, retryAfter: retryAfter(resp.Header)}
	if resp.StatusCode == http.StatusProxyAuthRequired {
		e.text, e.cause = errProxySignIn.Error(), errProxySignIn
	} else if p.Code == "" {
		e.text = fmt.Sprintf("the response %d is not from the licensing service; check the URL and the proxy", resp.StatusCode)
	} else {
		e.text = fmt.Sprintf("the licensing service answered %d %s: %s", resp.StatusCode, p.Code, p.Detail)
	}
	return e
}

// retryAfter returns the wait in Retry-After, in seconds or as a date.
func retryAfter(h http.Header) time.Duration {
	v := h.Get("Retry-After")
	var wait time.Duration
	if n, err := strconv.ParseInt(v, 10, 32); err == nil {
		wait = time.Duration(n) * time.Second
	} else if at, err := http.ParseTime(v); err == nil {
		wait = time.Until(at)
	}
	return min(max(0, wait), maxRetryAfter)
}

// codeOf returns the code of the problem document in an error.
func codeOf(err error) api.Code {
	if f, ok := errors.AsType[*failure](err); ok {
		return f.code
	}
	return ""
}
