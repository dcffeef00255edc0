package main

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
	"github.com/seed-d8a106b4/licensekit/licensing/program"
)

// options are the options of lk_open: those of package program, with proxy and ca in place of
// HTTPClient.
type options struct {
	URL           string          `json:"url"`
	Keys          json.RawMessage `json:"keys"` // an object, or its text
	ProductID     string          `json:"product_id"`
	AlsoProductID string          `json:"also_product_id"`
	Key           string          `json:"key"`
	Dir           string          `json:"dir"`
	Fingerprint   string          `json:"fingerprint"`
	Name          string          `json:"name"`
	Version       string          `json:"version"`
	PerProcess    bool            `json:"per_process"`
	BuiltAt       time.Time       `json:"built_at"`
	Proxy         string          `json:"proxy"`
	CA            string          `json:"ca"`
	Panic         bool            `json:"panic"` // for tests: each call panics
}

func (o options) program() program.Options {
	return program.Options{
		URL: o.URL, Keys: keysOf(o.Keys), ProductID: o.ProductID, AlsoProductID: o.AlsoProductID, Key: o.Key, Dir: o.Dir,
		Fingerprint: o.Fingerprint, Name: o.Name, Version: o.Version, PerProcess: o.PerProcess, BuiltAt: o.BuiltAt,
	}
}

// shown is a status in JSON.
type shown struct {
	program.Status
	Message string `json:"message"`
}

// decode reads one JSON object without unknown members.
func decode(text string, into any) error {
	if text == `{"panic":true}` {
		panic("a test")
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	err := d.Decode(into)
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return invalid(cmp.Or(strings.TrimPrefix(wrong.Field, "Status."), "the JSON") + " has a value of the wrong type: " + wrong.Value)
	}
	if err != nil {
		return invalid("the JSON is not valid: " + strings.TrimPrefix(err.Error(), "json: "))
	}
	if _, err := d.Token(); err != io.EOF {
		return invalid("the JSON is not valid: it has more than one value")
	}
	return nil
}

func encode(v any) (string, error) {
	b, err := json.Marshal(v)
	return string(b), err
}

// keysOf returns a key set that is given as an object or as its text.
func keysOf(keys json.RawMessage) []byte {
	var text string
	if json.Unmarshal(keys, &text) == nil {
		return []byte(text)
	}
	return keys
}

// open opens a license with options in JSON.
func open(text string) (*opened, error) {
	var o options
	if err := decode(text, &o); err != nil {
		return nil, err
	}
	l := newOpened()
	client, err := l.client(o)
	if err != nil {
		return nil, invalid(err.Error())
	}
	l.panics = o.Panic
	opts := o.program()
	opts.HTTPClient, opts.OnChange = client, func(program.Status) { l.change(false) }
	if l.License, err = program.Open(opts); err != nil {
		return nil, invalid(inJSON.Replace(err.Error()))
	}
	return l, nil
}

// fixed returns a license with a status in JSON.
func fixed(text string) (*opened, error) {
	var s shown
	if err := decode(text, &s); err != nil {
		return nil, err
	}
	l := newOpened()
	l.License = program.Fixed(s.Status)
	return l, nil
}

// inJSON replaces the names of options in errors of program.Open.
var inJSON = strings.NewReplacer("program: ", "", "Options.URL", "url", "Options.Keys", "keys", "Options.AlsoProductID", "also_product_id",
	"Options.ProductID", "product_id", "Options.Fingerprint", "fingerprint", "Options.Name", "name", "Options.Version", "version", "Options.Dir", "dir",
	"AlsoProductID", "also_product_id", "ProductID", "product_id", "PerProcess", "per_process")

// client returns the HTTP client for a proxy and certificates; nil: the default.
func (l *opened) client(o options) (*http.Client, error) {
	if o.Proxy == "" && o.CA == "" {
		return nil, nil
	}
	t := http.DefaultTransport.(*http.Transport).Clone()
	if o.Proxy != "" {
		u, err := url.Parse(o.Proxy)
		if err != nil || u.Host == "" {
			return nil, errors.New("proxy must be a URL such as http://proxy.example:3128")
		}
		t.Proxy = http.ProxyURL(u)
	}
	if o.CA != "" {
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM([]byte(o.CA)) {
			return nil, errors.New("ca must have a certificate in PEM")
		}
		t.TLSClientConfig = &tls.Config{RootCAs: pool}
	}
	l.idle = t.CloseIdleConnections
	return &http.Client{Transport: t}, nil
}

// expect is what lk_verify expects of a file.
type expect struct {
	ProductID     string    `json:"product_id"`
	Fingerprint   string    `json:"fingerprint"`
	Nonce         string    `json:"nonce"`
	BuiltAt       time.Time `json:"built_at"`
	MinGeneration int64     `json:"min_generation"`
	Now           time.Time `json:"now"`
	Floor         time.Time `json:"floor"`
	Revocations   string    `json:"revocations"`
}

// verify verifies a license file, and returns its claims as JSON.
func verify(keys, file, text string) (claims string, err error) {
	var e expect
	if err := decode(text, &e); err != nil {
		return "", err
	}
	set, err := licensefile.ParseKeys(keysOf([]byte(keys)))
	if err != nil {
		return "", invalid("keys must be the answer of GET /file/keys: " + err.Error())
	}
	want := licensefile.Expect{
		ProductID: e.ProductID, Fingerprint: e.Fingerprint, Nonce: e.Nonce, BuiltAt: e.BuiltAt, MinGeneration: e.MinGeneration, Now: e.Now, Floor: e.Floor,
	}
	if e.Revocations != "" {
		list, err := set.VerifyRevocations(e.Revocations)
		if err != nil {
			return "", program.FileError(err)
		}
		set, want.Revocations = set.Condemn(list.CondemnedKeys...), &list
	}
	f, err := set.Verify(file)
	if err == nil {
		err = f.Check(want)
	}
	if err != nil {
		return "", program.FileError(err)
	}
	return encode(f.Claims)
}
