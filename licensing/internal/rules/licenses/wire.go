package licenses

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/revocations"
)

// GetEncoded is Get with the license as JSON, and its version.
func (s Service) GetEncoded(ctx context.Context, id string) ([]byte, api.Version, error) {
	rec, err := s.Find(ctx, s.Reader(), id)
	if err != nil {
		return nil, api.Version{}, err
	}
	at := s.Now()
	text, err := s.AppendWire(make([]byte, 0, wireSize(rec)), rec, at)
	return text, api.Version{Revision: rec.Revision, Status: StatusAt(rec.License, at)}, err
}

// wireSize is about how long a license is on the wire: what every one has, and its texts.
func wireSize(rec record.License) int {
	return 448 + len(rec.Name) + len(rec.ProductID) + len(rec.CustomerID) + len(rec.Entitlements) + len(rec.Meters) + len(rec.Metadata)
}

// AppendWire appends a stored license, in its state at an instant, as the API sends
// it: FromRecord as the caller may see it, encoded. The entitlements and the metadata
// are the stored bytes, which decoding and encoding would not change.
func (s Service) AppendWire(b []byte, rec record.License, at time.Time) ([]byte, error) {
	w := wire{text: append(b, `{"object":"license"`...)}
	w.string(`,"id":`, rec.ID)
	w.string(`,"name":`, rec.Name)
	w.string(`,"product_id":`, rec.ProductID)
	w.string(`,"customer_id":`, rec.CustomerID)
	w.notEmpty(`,"key":`, s.ShownKey(keyText(rec)))
	w.string(`,"status":`, string(StatusAt(rec.License, at)))
	w.notEmpty(`,"status_reason":`, rec.StateReason)
	w.optionalTime(`,"starts_at":`, rec.StartsAt)
	w.optionalTime(`,"expires_at":`, rec.ExpiresAt)
	w.integer(`,"grace_seconds":`, rec.GraceSeconds)
	w.optionalCount(`,"max_activations":`, rec.MaxActivations)
	w.optionalCount(`,"lease_seconds":`, rec.LeaseSeconds)
	w.optionalCount(`,"offline_seconds":`, rec.OfflineSeconds)
	w.object(`,"entitlements":`, rec.Entitlements)
	if len(rec.Meters) > 0 {
		w.object(`,"meters":`, rec.Meters)
	}
	w.object(`,"metadata":`, rec.Metadata)
	w.integer(`,"generation":`, revocations.Generation(rec))
	w.integer(`,"revision":`, rec.Revision)
	w.time(`,"created_at":`, rec.CreatedAt)
	w.time(`,"updated_at":`, rec.UpdatedAt)
	w.notEmpty(`,"plan_id":`, rec.PlanID)
	w.notEmpty(`,"reference":`, rec.Reference)
	if !rec.UpdatesUntil.IsZero() {
		w.time(`,"updates_until":`, rec.UpdatesUntil)
	}
	w.notEmpty(`,"starts":`, string(startsOf(rec)))
	if !rec.ChangesAt.IsZero() {
		coming, err := upcoming(rec)
		if w.err = cmp.Or(w.err, err); len(coming) > 0 {
			w.text = append(append(w.text, `,"upcoming":`...), record.Encode(coming)...)
		}
	}
	if w.err != nil {
		return nil, fmt.Errorf("license %s: %w", rec.ID, w.err)
	}
	return append(w.text, '}'), nil
}

// A wire is the text of a JSON object that is being written. A label is the name of a
// member with a comma before it and a colon after it.
type wire struct {
	text []byte
	err  error
}

func (w *wire) string(label, s string) { w.text = record.AppendText(append(w.text, label...), s) }

func (w *wire) notEmpty(label, s string) {
	if s != "" {
		w.string(label, s)
	}
}

func (w *wire) integer(label string, n int64) {
	w.text = strconv.AppendInt(append(w.text, label...), n, 10)
}

// optionalCount writes null for a negative number.
func (w *wire) optionalCount(label string, n int64) {
	if n < 0 {
		w.null(label)
	} else {
		w.integer(label, n)
	}
}

func (w *wire) time(label string, t time.Time) {
	text, err := t.AppendText(append(append(w.text, label...), '"'))
	w.text, w.err = append(text, '"'), cmp.Or(w.err, err)
}

// optionalTime writes null for the zero time.
func (w *wire) optionalTime(label string, t time.Time) {
	if t.IsZero() {
		w.null(label)
	} else {
		w.time(label, t)
	}
}

func (w *wire) null(label string) { w.text = append(append(w.text, label...), "null"...) }

// object writes a stored JSON object, or an empty one if there is none.
func (w *wire) object(label string, document []byte) {
	w.text = append(w.text, label...)
	switch {
	case len(document) == 0:
		w.text = append(w.text, "{}"...)
	case json.Valid(document) && utf8.Valid(document):
		w.text = append(w.text, document...)
	default:
		w.err = errors.New("stored document: malformed JSON")
	}
}
