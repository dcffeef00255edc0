package license_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store"
)

// exports returns the data of the events about exports.
func (f *fixture) exports(t *testing.T) (list []string) {
	t.Helper()
	events, err := f.store.Events(t.Context(), store.EventQuery{Limit: store.MaxLimit})
	is.New(t).NoErr(err)
	for _, e := range events {
		if e.Type == api.EventLicensesExported {
			list = append(list, e.Actor+" "+string(e.Data))
		}
	}
	return list
}

func TestExportWithKeysAppendsAnEvent(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	var out bytes.Buffer
	is.NoErr(f.Export(t.Context(), &out, api.ListLicensesParams{}))
	is.Equal(len(f.exports(t)), 0) // nothing was exported
	l := f.create(t)
	client := f.As(license.Caller{Actor: "client:cid_1"})
	is.NoErr(client.Export(t.Context(), &out, api.ListLicensesParams{CustomerID: l.CustomerID}))
	is.NoErr(inner.Of(f.Service).MoveIn().ExportCSV(t.Context(), &out, api.ListLicensesParams{Search: l.Key}))
	is.NoErr(inner.Of(f.Service).MoveIn().ExportCSV(t.Context(), &out, api.ListLicensesParams{IDs: []string{l.ID}}))
	is.NoErr(inner.Of(f.As(license.Caller{MaskKeys: true})).MoveIn().ExportCSV(t.Context(), &out, api.ListLicensesParams{}))
	is.Equal(f.exports(t), []string{
		`client:cid_1 {"export":{"format":"ndjson","rows":1,"filter":{"customer_id":"cus_ada"}}}`,
		`go {"export":{"format":"csv","rows":1,"filter":{"search":true}}}`, // not the text, which is a key
		`go {"export":{"format":"csv","rows":1,"filter":{"ids":["` + l.ID + `"]}}}`,
	})

	_, err := f.EraseCustomer(t.Context(), l.CustomerID)
	is.NoErr(err)
	is.Equal(f.exports(t)[0], `client:cid_1 {"erased":true}`)
}

// failing is a connection that breaks after the first write.
type failing struct{ writes int }

var errBroken = errors.New("broken pipe")

func (w *failing) Write(p []byte) (int, error) {
	if w.writes++; w.writes > 1 {
		return 0, errBroken
	}
	return len(p), nil
}

func TestInterruptedExportAppendsAnEvent(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	for range 450 {
		f.create(t)
	}
	ctx, cancel := context.WithCancel(t.Context())
	w := &failing{}
	err := inner.Of(f.Service).MoveIn().ExportCSV(ctx, w, api.ListLicensesParams{})
	cancel()
	require.ErrorIs(t, err, errBroken)
	is.Equal(f.exports(t), []string{`go {"export":{"format":"csv","rows":400,"filter":{}}}`})
}

// refusing is a store that cannot write.
type refusing struct{ store.Store }

func (refusing) Update(context.Context, func(store.Tx) error) error { return store.ErrUnavailable }

func TestNoExportWithoutItsEvent(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	f.create(t)
	var out bytes.Buffer
	s := license.New(refusing{f.store}, license.Options{})
	require.ErrorIs(t, inner.Of(s).MoveIn().ExportCSV(t.Context(), &out, api.ListLicensesParams{}), store.ErrUnavailable)
	require.ErrorIs(t, s.Export(t.Context(), &out, api.ListLicensesParams{}), store.ErrUnavailable)
	is.Equal(out.Len(), 0)
}

func TestExportCSV(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	l := f.create(t, func(p *api.CreateLicenseParams) {
		p.Name, p.Metadata = "=Zoë", map[string]string{"order": "7"}
	})
	var out bytes.Buffer
	is.NoErr(inner.Of(f.Service).MoveIn().ExportCSV(t.Context(), &out, api.ListLicensesParams{}))
	header, row, _ := strings.Cut(out.String(), "\r\n")
	require.HasPrefix(t, header, "\ufeffid,name,product_id,customer_id,key,status,")
	require.HasPrefix(t, row, l.ID+",'=Zoë,prod_editor,cus_ada,"+l.Key+",active,")
	require.Contains(t, row, `{},,"{""order"":""7""}",1,`)

	out.Reset()
	is.NoErr(inner.Of(f.As(license.Caller{MaskKeys: true})).MoveIn().ExportCSV(t.Context(), &out, api.ListLicensesParams{}))
	require.NotContains(t, out.String(), "key")
	require.NotContains(t, out.String(), l.Key[len(l.Key)-4:])
}
