package record_test

import (
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/store"
)

func at(ms int64) time.Time { return time.UnixMilli(ms).UTC() }

var whole = record.License{
	License: store.License{ID: "lic_1", Key: "K", CustomerID: "c", ProductID: "p", State: store.StateRevoked, StartsAt: at(1), ExpiresAt: at(2)},
	Name:    "Ünïcode \"\\\b\f\n\r\t\x01'\u2028</>&", KeyText: "k", StateReason: "why", StateAt: at(0),
	GraceSeconds: 7, MaxActivations: 0, LeaseSeconds: 1<<63 - 1, OfflineSeconds: 0, Generation: 3, PlanID: "price_1", Reference: "shop:1", Bought: true, Hand: []byte(`{"seats":3}`), Suspension: []byte(`{"by":"shop:1"}`), Changes: []byte(`{"changes":[{"at":"2030-01-01T00:00:00Z"}]}`), ChangesAt: time.UnixMilli(7).UTC(),
	Entitlements: []byte(`{"a":1.0,"b":[{"}":"]\""}]}`), Metadata: []byte(`{"x":"}\\"}`),
	Revision: 9, CreatedAt: at(-1), UpdatedAt: at(3),
}

func TestLicenseRoundTrip(t *testing.T) {
	is := is.New(t)
	for want, l := range map[string]record.License{
		`{"name":"Ünïcode \"\\\b\f\n\r\t\u0001'` + "\u2028" + `</>&","key":"k","reason":"why","since":0,"grace":7,"seats":0,"lease":9223372036854775807,"offline":0,"generation":3,"plan":"price_1","reference":"shop:1","bought":1,"hand":{"seats":3},"suspension":{"by":"shop:1"},"changes":{"changes":[{"at":"2030-01-01T00:00:00Z"}]},"changes_at":7,` +
			`"entitlements":{"a":1.0,"b":[{"}":"]\""}]},"metadata":{"x":"}\\"},"revision":9,"created":-1,"updated":3}`: whole,
		`{}`: {License: store.License{ID: "lic_2"}, MaxActivations: -1, LeaseSeconds: -1, OfflineSeconds: -1},
	} {
		row := l.Row()
		is.Equal(string(row.Document), want)
		got, err := record.ReadLicense(row)
		is.NoErr(err)
		is.Equal(got, l)
	}
}

func TestActivationRoundTrip(t *testing.T) {
	is := is.New(t)
	for want, a := range map[string]record.Activation{
		`{"name":"n","reason":"released","metadata":{"a":"b"},"lease":5,"held":6,"heldgen":7,"heldterms":"d","process":1,"created":1,"seen":2}`: {
			Activation: store.Activation{LicenseID: "lic_1", ID: "act_1", Fingerprint: "f", LeaseEndsAt: at(3), EndedAt: at(4)},
			Name:       "n", EndReason: "released", Metadata: []byte(`{"a":"b"}`), CreatedAt: at(1), LastSeenAt: at(2),
			Lease: at(5), HeldUntil: at(6), HeldGeneration: 7, HeldTerms: "d", PerProcess: true,
		},
		`{}`: {},
	} {
		row := a.Row()
		is.Equal(string(row.Document), want)
		got, err := record.ReadActivation(row)
		is.NoErr(err)
		is.Equal(got, a)
	}
}

// TestUnknownMembersAreKept when a version that does not know them writes the
// record again.
func TestUnknownMembersAreKept(t *testing.T) {
	is := is.New(t)
	l, err := record.ReadLicense(store.License{Document: []byte(`{"new":{"a":[1,"]"]},"name":"n","newer":null}`)})
	is.NoErr(err)
	l.Name = ""
	is.Equal(string(l.Row().Document), `{"new":{"a":[1,"]"]},"newer":null}`)
	l.Revision = 2
	is.Equal(string(l.Row().Document), `{"revision":2,"new":{"a":[1,"]"]},"newer":null}`)
	a, err := record.ReadActivation(store.Activation{Document: []byte(`{"seen":1,"new":"x"}`)})
	is.NoErr(err)
	is.Equal(string(a.Row().Document), `{"seen":1,"new":"x"}`)
	a, err = record.ReadActivation(store.Activation{Document: []byte(`{"seen":1,"new":"x","name":"n","newer":2,"held":3}`)})
	is.NoErr(err)
	is.Equal(string(a.Row().Document), `{"name":"n","held":3,"seen":1,"new":"x","newer":2}`)
}

// TestDocumentsAreStrict: a damaged document is an error and never a license with
// default fields.
func TestDocumentsAreStrict(t *testing.T) {
	for _, document := range []string{
		``, `null`, `[]`, `{`, `}`, `{}}`, `{} `, ` {}`, `{,}`, `{"name"}`, `{"name":}`, `{"name":"n"`, `{"name":"n",}`, `{"name":"n"}x`,
		`{"name":"n}`, `{"name":"n\"}`, `{"name":n}`, `{"name":7}`, `{"name":"\x"}`, `{"name":"a"b"}`, `{"grace":"1"}`, `{"grace":1.5}`, `{"grace":99999999999999999999}`,
		`{"metadata":[]}`, `{"metadata":null}`, `{"metadata":{}`, `{"since":"2030"}`, `{name:"n"}`, `{"name":"n""reason":"r"}`,
	} {
		t.Run(document, func(t *testing.T) {
			is := is.New(t)
			_, err := record.ReadLicense(store.License{ID: "lic_1", Document: []byte(document)})
			is.True(err != nil)
			require.Contains(t, err.Error(), "lic_1")
		})
	}
}
