package postgres

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// A row is what was read at a place. At a unique key, that is the place of the row
// which has it.
type row struct {
	value   any   // *store.License, *store.Activation, *store.Entry, *store.Event, place, or nil: there is none
	version int64 // of the write that put it there
}

// A table is where the rows of one type are.
type table struct {
	name    string // with an alias
	columns string // of rowScanner; %s is the version
	version string // an expression
	key     string // an expression of what placeOf tells
}

var (
	licenses = table{"licensing_licenses l",
		"'l', %s, l.id, l.key, l.customer_id, l.product_id, l.state, l.text, '', l.starts_at, l.expires_at, 0::bigint, l.document",
		"l.version", "l.id || '/'"}
	activations = table{"licensing_activations a",
		"'a', %s, a.license_id, a.id, a.fingerprint, '', '', '', '', a.lease_ends_at, a.ended_at, 0::bigint, a.document",
		"a.version", "a.license_id || '/' || a.id"}
	entries = table{"licensing_entries e",
		"'e', %s, e.kind, e.key, e.owner, '', '', '', '', e.expires_at, e.created_at, e.move::bigint, e.data",
		"e.version", "e.kind || '/' || e.key"}
	// An event has no version: a hash of what ReplaceEvent may change takes its place.
	events = table{"licensing_events e",
		"'h', %s, e.id, e.type, e.actor, e.request_id, e.subject, e.product_id, e.customer_id, e.time, NULL::bigint, e.seq, e.data",
		"('x' || substr(md5(e.customer_id || '/' || encode(e.data, 'hex')), 1, 16))::bit(64)::bigint", "e.seq::text || '/' || e.id"}
)

// rowScanner returns what reads rows of any table. They have the same columns, so that
// one statement reads rows of several.
func rowScanner() func(*sql.Rows) (row, error) {
	var kind string
	var version, n int64
	var t [7]string
	var one, other time.Time
	var data []byte
	columns := []any{&kind, &version, &t[0], &t[1], &t[2], &t[3], &t[4], &t[5], &t[6], instant{&one}, instant{&other}, &n, &data}
	return func(rows *sql.Rows) (row, error) {
		err := rows.Scan(columns...)
		r := row{version: version}
		switch kind {
		case "l":
			r.value = &store.License{ID: t[0], Key: t[1], CustomerID: t[2], ProductID: t[3], State: store.State(t[4]), Text: t[5], StartsAt: one, ExpiresAt: other, Document: data}
		case "a":
			r.value = &store.Activation{LicenseID: t[0], ID: t[1], Fingerprint: t[2], LeaseEndsAt: one, EndedAt: other, Document: data}
		case "e":
			r.value = &store.Entry{Kind: t[0], Key: t[1], Owner: t[2], ExpiresAt: one, CreatedAt: other, Move: store.Move(n), Data: data}
		case "h":
			r.value = &store.Event{Seq: n, ID: t[0], Type: t[1], Time: one, Actor: t[2], RequestID: t[3], Subject: t[4], ProductID: t[5], CustomerID: t[6], Data: data}
		}
		return r, err
	}
}

// valuesOf returns what is stored of a row's value, but for its version.
func valuesOf(value any) []any {
	switch v := value.(type) {
	case *store.License:
		return []any{v.ID, v.Key, v.CustomerID, v.ProductID, string(v.State), millis(v.StartsAt), millis(v.ExpiresAt), v.Text, v.Document}
	case *store.Activation:
		return []any{v.LicenseID, v.ID, v.Fingerprint, millis(v.LeaseEndsAt), millis(v.EndedAt), v.Document}
	case *store.Entry:
		return []any{v.Kind, v.Key, v.Owner, v.Data, v.ExpiresAt.UnixMilli(), millis(v.CreatedAt), int64(v.Move)}
	case *store.Event:
		return []any{v.Seq, v.ID, v.Type, millis(v.Time), v.Actor, v.RequestID, v.Subject, v.ProductID, v.CustomerID, v.Data}
	}
	return nil
}

// placeOf returns the place of a row's value.
func placeOf(value any) place {
	switch v := value.(type) {
	case *store.License:
		return place{licenseAt, v.ID, ""}
	case *store.Activation:
		return place{activationAt, v.LicenseID, v.ID}
	case *store.Entry:
		return place{entryAt, v.Kind, v.Key}
	case *store.Event:
		return place{feedAt, strconv.FormatInt(v.Seq, 10), v.ID}
	}
	return place{}
}

// uniqueKey returns the first of keysOf, or no place.
func uniqueKey(value any) place { return append(keysOf(value), place{})[0] }

// keysOf returns the other places at which a row's value is found.
func keysOf(value any) []place {
	switch v := value.(type) {
	case *store.License:
		return []place{{keyAt, v.Key, ""}}
	case *store.Activation:
		return []place{{fingerprintAt, v.LicenseID, v.Fingerprint}, {seatsAt, v.LicenseID, ""}}
	}
	return nil
}

// points are the statements that read one place.
var points = map[byte]string{
	licenseAt:     licenses.where("l.id = ?"),
	keyAt:         licenses.where("l.key = ?"),
	activationAt:  activations.where("a.license_id = ? AND a.id = ?"),
	fingerprintAt: activations.where("a.license_id = ? AND a.fingerprint = ?"),
	seatsAt:       activations.where("a.license_id = ? LIMIT 1"),
	entryAt:       entries.where("e.kind = ? AND e.key = ?"),
}

func (t table) where(condition string) string {
	return "(SELECT " + fmt.Sprintf(t.columns, t.version) + " FROM " + t.name + " WHERE " + condition + ")"
}

// read returns the rows at some places.
func read(ctx context.Context, d database, places ...place) ([]row, error) {
	var texts []string
	var args []any
	for _, p := range places {
		text := points[p.kind]
		for _, arg := range []any{p.a, p.b}[:strings.Count(text, "?")] {
			args = append(args, arg)
			text = strings.Replace(text, "?", "$"+strconv.Itoa(len(args)), 1)
		}
		texts = append(texts, text)
	}
	return all(ctx, d, rowScanner(), strings.Join(texts, " UNION ALL "), args...)
}
