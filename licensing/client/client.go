package client

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// Options are the options of [New]. Only URL is required.
type Options struct {
	// URL is where the service is mounted, such as
	// "https://example.com/licensing": http or https, without user info, query
	// and fragment.
	URL string

	// ClientID and ClientSecret are the credentials of an API client. Without
	// them, only operations that need no access token work.
	ClientID, ClientSecret string

	// HTTPClient sends the requests. Nil: a client with the transport of
	// [http.DefaultTransport], which uses the proxy of the environment. A
	// Client never follows redirects, whatever HTTPClient says, so that no
	// credential reaches another address.
	HTTPClient *http.Client
}

// A Client calls the API of a licensing service. It is safe for concurrent
// use. Create one with [New]; it needs no closing.
//
// Every method takes a context, which ends the request, waits between retries
// included. An error is an [*Error], the error of the context, or an error of
// the connection.
type Client struct {
	base       string // URL without a final slash
	id, secret string
	http       *http.Client
	tokens     *tokenSource
	key        string // of Once
}

// New returns a client of the service at opts.URL. It does no I/O. It returns
// an error that names the invalid option.
func New(opts Options) (*Client, error) {
	base, err := parseURL(opts.URL)
	if err != nil {
		return nil, fmt.Errorf("client: Options.URL %w", err)
	}
	if (opts.ClientID == "") != (opts.ClientSecret == "") {
		return nil, errors.New("client: Options.ClientID and Options.ClientSecret must be set together")
	}
	own := http.Client{}
	if opts.HTTPClient != nil {
		own = *opts.HTTPClient
	}
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Client{base: base, id: opts.ClientID, secret: opts.ClientSecret, http: &own, tokens: &tokenSource{}}, nil
}

// Once returns a Client whose calls carry an idempotency key, such as the number of
// an order: a call that is repeated with the key, by this process or by another,
// returns the result of the first for 24 hours. Use a key for one call only; with
// another call it is [api.CodeIdempotencyKeyReused]. Without Once, a random key covers the
// retries of one call. A change that has no idempotency key, such as CreateWebhook, is
// an error.
func (c *Client) Once(key string) *Client {
	once := *c
	once.key = key
	return &once
}

// parseURL returns the URL of a service without a final slash. The error
// completes a sentence that begins with the name of the option.
func parseURL(s string) (string, error) {
	u, err := url.Parse(s)
	switch {
	case s == "":
		return "", errors.New(`must be set, such as "https://example.com/licensing"`)
	case err != nil:
		return "", errors.New("must be a URL") // the error could repeat a password
	case u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return "", errors.New(`must begin with "https://" and a host`)
	case u.User != nil:
		return "", errors.New("must not contain a user name")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return "", errors.New("must not have a query or a fragment")
	}
	return strings.TrimRight(u.String(), "/"), nil
}
