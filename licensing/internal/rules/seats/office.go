package seats

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/licenses"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/meters"
	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
	"github.com/seed-d8a106b4/licensekit/store"
)

// An office lends seats of a license on a network of its own. Each of its seats is an
// activation, with the fingerprint licensefile.OfficeFingerprint, that the file of the
// office holds and that ends with the hold: a renewal with fewer seats leaves the rest
// to the earlier file, from which the office may lend until that expires.

// maxOfficeSeats is how many seats an office may have: they are taken in one Update.
const maxOfficeSeats = 200

// readOfficeRequest returns the request in p of an office; nil: p has none.
func readOfficeRequest(p api.IssueFileParams) (*licensefile.OfficeRequest, error) {
	if !licensefile.IsOfficeRequest(p.Request) {
		return nil, nil
	}
	r, err := licensefile.ParseOfficeRequest(p.Request)
	if err != nil {
		return nil, api.Invalid("request", api.FieldInvalidFormat, "must be the whole request text of the office")
	}
	if r.Seats > maxOfficeSeats {
		return nil, api.Invalid("request", api.FieldOutOfRange, fmt.Sprintf("asks for more than %d seats", maxOfficeSeats))
	}
	return &r, nil
}

// lends reports whether the service is an office, and a license the one that it lends.
func (s Service) lends(l record.License) bool {
	return s.Opts.Office != nil && s.Opts.Office.LicenseID == l.ID
}

// lendable returns the license as this service may use it: that of an office is what the
// file of the office says, as in the files that the office signs, and has no more seats. So a
// program sees in a verdict whether a new file says something else. It is for decisions, not
// to be stored.
func (s Service) lendable(l record.License) record.License {
	if !s.lends(l) {
		return l
	}
	office := s.Opts.Office
	if most := office.Office.Seats; l.MaxActivations < 0 || l.MaxActivations > most {
		l.MaxActivations = most
	}
	l.Name, l.Generation, l.Entitlements = office.Name, office.Generation, call.EncodeMap(office.Entitlements)
	l.ExpiresAt, l.UpdatesUntil, l.GraceSeconds = office.LicenseExpiresAt, office.UpdatesUntil, 0
	if grace := office.ExpiresAt.Sub(l.ExpiresAt); !l.ExpiresAt.IsZero() && grace > 0 {
		l.GraceSeconds = int64(grace / time.Second)
	}
	return l
}

// ofLicense returns an error if the request of an office is for another license.
func ofLicense(r *licensefile.OfficeRequest, l record.License) error {
	if r.KeyHash != "" && r.KeyHash != licensefile.KeyHash(l.Key) {
		return errAnotherKey
	}
	return nil
}

// countOffice counts what an office has counted of the meters of a license, in an Update
// before that of issueOffice: it was used whether or not the office gets a file. Between the
// two, the usage is counted, and the same request does not count it again.
func (s Service) countOffice(ctx context.Context, p api.IssueFileParams, request *licensefile.OfficeRequest) error {
	if len(request.Meters) == 0 {
		return nil
	}
	id, err := licensefile.KeyID(request.Key)
	if err != nil {
		return err
	}
	return s.Write(ctx, func(tx *call.Tx) error {
		rec, found, err := record.License{}, true, error(nil)
		if p.Key != "" {
			rec, found, err = licenses.Of(s.Call).ByKey(ctx, tx, p.Key)
		} else {
			rec, err = licenses.Of(s.Call).Find(ctx, tx, p.LicenseID)
		}
		if err != nil || !found { // issueOffice says so
			return err
		}
		if err := ofLicense(request, rec); err != nil {
			return err
		}
		_, err = tx.Activation(ctx, rec.ID, licensefile.OfficeFingerprint(id, 1))
		if errors.Is(err, store.ErrNotFound) { // it has never been an office of the license
			return nil
		}
		if err != nil {
			return err
		}
		return meters.Of(s.Call).CountOffice(ctx, tx, rec, id, request.Meters)
	})
}

// officeClaim returns the claim of the file that answers a request.
func officeClaim(r *licensefile.OfficeRequest, l record.License) (*licensefile.Office, error) {
	o := &licensefile.Office{Key: r.Key, Seats: r.Seats}
	if err := call.Decode(l.Meters, &o.Meters); err != nil {
		return nil, fmt.Errorf("license %s: stored document: %w", l.ID, err)
	}
	for name := range o.Meters {
		if call.IsReserved(name) { // the service counts it
			delete(o.Meters, name)
		}
	}
	return o, nil
}

// issueOffice takes all seats that an office asks for, or none, and issues its file, in one
// Update. Seats that the office has already are kept until the new file expires.
func (s Service) issueOffice(ctx context.Context, find func(store.Reader, time.Time) (facts, error), a api.ActivateKeyParams, ask *fileAsk) (v VerdictWithFile, err error) {
	id, err := licensefile.KeyID(ask.office.Key)
	if err != nil {
		return v, err
	}
	fingerprints := make([]string, ask.office.Seats)
	for i := range fingerprints {
		fingerprints[i] = licensefile.OfficeFingerprint(id, int64(i+1))
	}
	err = s.Write(ctx, func(tx *call.Tx) error {
		find := find // with n > 1, what the first seat found
		missing, err := s.missingSeats(ctx, tx, find, fingerprints)
		if err != nil {
			return err
		}
		forAll := func(r store.Reader, now time.Time) (facts, error) {
			f, err := find(r, now)
			f.more = max(0, missing-1)
			return f, err
		}
		for n := int64(1); n <= ask.office.Seats; n++ {
			a.Fingerprint, a.Name = fingerprints[n-1], fmt.Sprintf("Office, seat %d", n)
			forSeat := ask
			if n > 1 {
				forSeat = nil
			}
			d, err := s.officeSeat(ctx, tx, forAll, a, forSeat)
			if err != nil {
				if n > 1 { // seats were written
					tx.Fail(err)
				}
				return err
			}
			if d.takes {
				missing--
			}
			until := d.offer.hold // zero: the seat is held long enough
			if n > 1 {
				if d.takes { // the lower its number, the older is a seat: see overLimit
					d.seat.ID = store.NewID("act", d.at.Add(time.Duration(n)*time.Millisecond))
				}
				if until, err = s.holdWithFile(ctx, tx, &d, v.Claims); err != nil {
					return err
				}
			}
			if !until.IsZero() {
				licenses.SetLease(&d.seat, until, d.seat.HeldUntil)
			}
			if n == 1 {
				shown, err := ActivationAt(d.seat, d.at)
				if err != nil {
					return err
				}
				d.verdict.Activation, v = &shown, d.verdict
				found := d.facts
				found.seat, found.seated = record.Activation{}, false
				find = func(store.Reader, time.Time) (facts, error) { return found, nil }
			}
			if err := s.write(ctx, tx, &d); err != nil {
				return err
			}
		}
		return nil
	})
	return v, err
}

// missingSeats returns how many of the fingerprints of an office use no seat. It reads at
// once what the decisions about them need.
func (s Service) missingSeats(ctx context.Context, tx *call.Tx, find func(store.Reader, time.Time) (facts, error), fingerprints []string) (n int64, err error) {
	f, err := find(tx, tx.Now)
	if err != nil {
		return 0, err
	}
	if err := tx.Want(ctx, store.Wanted{LicenseID: f.license.ID, Fingerprints: fingerprints, Entries: [][2]string{{SeatsKind, f.license.ID}}}); err != nil {
		return 0, err
	}
	for _, fingerprint := range fingerprints {
		f.seat, f.seated = record.Activation{}, false
		if err := f.findActivation(ctx, tx, fingerprint); err != nil {
			return 0, err
		}
		if !f.holdsSeat() {
			n++
		}
	}
	return n, nil
}

// officeSeat decides about one seat of an office.
func (s Service) officeSeat(ctx context.Context, tx *call.Tx, find func(store.Reader, time.Time) (facts, error), a api.ActivateKeyParams, ask *fileAsk) (d decision, err error) {
	for d.refused = errMoreLeases; d.refused == errMoreLeases; {
		if d, err = s.decide(ctx, tx, find, tx.Now, &a, ask); err != nil {
			return d, err
		}
		if d.refused == errMoreLeases { // end these, and look again
			if err := s.write(ctx, tx, &d); err != nil {
				return d, err
			}
		}
	}
	return d, d.refused
}

// holdWithFile holds a seat of an office, after the first, for its file, and returns until
// when; zero: it is held long enough.
func (s Service) holdWithFile(ctx context.Context, r store.Reader, d *decision, c *licensefile.Claims) (time.Time, error) {
	until := holdFor(c.ExpiresAt)
	d.renews = false // by a program
	if !d.seat.HeldUntil.Before(until) && d.seat.HeldGeneration == c.Generation {
		return time.Time{}, nil
	}
	refused, err := overLimit(ctx, r, d.facts)
	if err == nil && refused != nil {
		err = &api.NoFileError{Reason: *refused}
	}
	until = call.LastOf(until, d.seat.HeldUntil)
	hold(&d.seat, until, c.Generation)
	d.renews = true
	return until, err
}

// lentToOffice reports whether an activation is a seat that the file of an office holds:
// the office may lend it, so only force frees it.
func lentToOffice(a record.Activation, now time.Time) bool {
	return call.IsOfficeSeat(a.Fingerprint) && a.HeldUntil.After(now)
}

// oldestProgram returns the oldest active activation that no office has after one that an
// office has, or that one if there is none among the next maxOfficeSeats.
func oldestProgram(ctx context.Context, r store.Reader, office record.Activation, at time.Time) (record.Activation, error) {
	rows, err := r.Activations(ctx, store.ActivationQuery{LicenseID: office.LicenseID, LiveAt: at, After: office.ID, Limit: maxOfficeSeats})
	for _, row := range rows {
		a, err := record.ReadActivation(row)
		if err != nil || !lentToOffice(a, at) {
			return a, err
		}
	}
	return office, err
}
