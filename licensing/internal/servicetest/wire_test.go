package servicetest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/web"
	"github.com/seed-d8a106b4/licensekit/store"
)

// sendsStoredBytes compares what the API sends for each license, alone and in a list,
// with the JSON of what Go callers read. It returns the latter.
func (c *caller) sendsStoredBytes() []api.License {
	c.t.Helper()
	is := is.New(c.t)
	page, err := c.Handler.Service().List(c.t.Context(), api.ListLicensesParams{Limit: 200})
	is.NoErr(err)
	var list struct{ Data []json.RawMessage }
	is.NoErr(json.Unmarshal(c.do("GET", "/license?limit=200", "").Body.Bytes(), &list))
	is.Equal(len(list.Data), len(page.Data))
	for i, l := range page.Data {
		want, err := web.Marshal(l)
		is.NoErr(err)
		is.Equal(string(list.Data[i])+"\n", string(want))
		a := c.do("GET", "/license/"+l.ID, "")
		is.Equal(a.Body.String(), string(want))
		is.Equal(a.Header().Get("ETag"), l.ETag())
	}
	return page.Data
}

// TestReadsSendStoredBytes stores licenses with random fields. It fails for a field of
// a license that reads do not send, or send in another place, and for a field that
// none of the licenses has.
func TestReadsSendStoredBytes(t *testing.T) {
	is := is.New(t)
	c := newCaller(t, licensing.Options{Limits: licensing.LimitOptions{ClientRate: -1}})
	random := rand.New(rand.NewPCG(1, 2))
	var rows []store.License
	for i := range 200 {
		var rec record.License
		fill(random, reflect.ValueOf(&rec).Elem())
		rec.Changes, rec.ChangesAt = nil, time.Time{}
		if i%3 == 0 {
			rec.ChangesAt = c.Clock.Now().Add(time.Hour)
			rec.Changes = record.Encode(map[string]any{"changes": []any{map[string]any{"at": rec.ChangesAt, "seats": -1, "entitlements": map[string]any{"<b>": nil}}}})
		}
		rec.Meters = []byte([]string{"", `{"a":{},"exports":{"limit":5,"soft":true,"per":"license_month"}}`}[random.IntN(2)])
		rec.ID = store.NewID("lic", c.Clock.Now())
		rec.Key = fmt.Sprintf("KEY-%d", i)
		rows = append(rows, rec.Row())
	}
	is.NoErr(c.Store.Update(t.Context(), func(tx store.Tx) error { return tx.CreateLicenses(t.Context(), rows...) }))
	all := c.sendsStoredBytes()
	is.Equal(len(all), len(rows))
	for _, f := range reflect.VisibleFields(reflect.TypeFor[api.License]()) {
		has := false
		for _, l := range all {
			has = has || !reflect.ValueOf(l).FieldByIndex(f.Index).IsZero()
		}
		if !has {
			t.Errorf("no license has the field %s", f.Name)
		}
	}
}

// fill sets each exported field of a record to a random value, or to none.
func fill(random *rand.Rand, v reflect.Value) {
	texts := []string{"", "plain", "Ünïcode \"\\\b\f\n\r\t\x01'\u2028\u2029</>&\x7f", "<b>&amp;"}
	text := func() string { return texts[random.IntN(len(texts))] }
	for _, f := range reflect.VisibleFields(v.Type()) {
		if f.Anonymous || !f.IsExported() {
			continue
		}
		switch field := v.FieldByIndex(f.Index).Addr().Interface().(type) {
		case *string:
			*field = text()
		case *int64:
			*field = random.Int64N(1<<random.IntN(62)) - 1
		case *time.Time:
			if random.IntN(3) > 0 {
				*field = time.UnixMilli(random.Int64N(253_402_300_800_000)).UTC() // the end of year 9999
			}
		case *store.State:
			*field = []store.State{store.StateActive, store.StateSuspended, store.StateRevoked}[random.IntN(3)]
		case *[]byte:
			object := map[string]string{}
			for range random.IntN(4) {
				object[text()] = text()
			}
			if len(object) > 0 {
				*field = record.Encode(object)
			}
		case *bool:
			*field = random.IntN(2) > 0
		case **record.License, *[]string: // not stored
		default:
			panic(fmt.Sprintf("no random value for %s of type %s", f.Name, f.Type))
		}
	}
}

// TestDamagedDocumentsAreNotSent: bytes that are not JSON are an error, although reads
// need not decode them.
func TestDamagedDocumentsAreNotSent(t *testing.T) {
	for _, document := range []string{`{"a":}`, `{"a":"b"}}`, `{"a":"` + "\xff" + `"}`, `{"a":"` + "\n" + `"}`} {
		for _, member := range []string{"entitlements", "metadata"} {
			t.Run(member+document, func(t *testing.T) {
				is := is.New(t)
				c := newCaller(t, licensing.Options{})
				rec := record.License{License: store.License{ID: store.NewID("lic", c.Clock.Now()), Key: "K", CustomerID: "c"}}
				if member == "metadata" {
					rec.Metadata = []byte(document)
				} else {
					rec.Entitlements = []byte(document)
				}
				is.NoErr(c.Store.Update(t.Context(), func(tx store.Tx) error { return tx.CreateLicenses(t.Context(), rec.Row()) }))
				for _, path := range []string{"/license/" + rec.ID, "/license", "/license/c"} {
					a := c.do("GET", path, "")
					is.Equal(a.Code, http.StatusInternalServerError)
					is.True(!strings.Contains(a.Body.String(), document))
				}
			})
		}
	}
}
