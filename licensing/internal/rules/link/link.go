package link

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/licenses"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/seats"
	"github.com/seed-d8a106b4/licensekit/store"
)

// lifetime is after how long a link ends, approved or not.
const lifetime = 10 * time.Minute

// The kinds of the entries of a link. The key of LinkKind is a digest of the secret, and its
// data a link; the key of CodeKind is a digest of the code, and its data the key of the link.
// Both expire when the link ends, and that of the code ends when it is used.
const (
	LinkKind = "link"
	CodeKind = "link_code"
)

// A link is what is stored of one: what the program said or, after the approval, only what
// follows from that, so that it names no customer.
type link struct {
	ProductID   string `json:"product_id,omitempty"`
	Fingerprint string `json:"fingerprint,omitempty"`
	Name        string `json:"name,omitempty"`

	AlsoProductID   string `json:"also_product_id,omitempty"`
	AlsoFingerprint string `json:"also_fingerprint,omitempty"`

	LicenseID    string `json:"license_id,omitempty"`    // empty: the customer has not approved
	ActivationID string `json:"activation_id,omitempty"` // the one that the approval made or kept
}

// Start stores a link to the page "link" below a URL. The interval is that of the endpoint.
func (s Service) Start(ctx context.Context, p api.StartLinkParams, pages string) (api.Link, error) {
	if err := call.Check(p); err != nil {
		return api.Link{}, err
	}
	l := api.Link{Object: "link", Secret: rand.Text() + rand.Text()} // 260 random bits
	err := s.Write(ctx, func(tx *call.Tx) error {
		code := newCode()
		for {
			_, err := find(ctx, tx, CodeKind, codeKey(code), tx.Now)
			if errors.Is(err, api.ErrLinkGone) {
				break
			}
			if err != nil {
				return err
			}
			code = newCode() // another program has this one
		}
		l.Code, l.ExpiresAt = shownCode(code), tx.Now.Add(lifetime)
		l.URL = pages + "/link?code=" + l.Code
		stored := link{
			ProductID: p.ProductID, Fingerprint: p.Fingerprint, Name: p.Name,
			AlsoProductID: p.AlsoProductID, AlsoFingerprint: cmp.Or(p.AlsoFingerprint, p.Fingerprint),
		}
		return tx.PutEntries(ctx, entry(LinkKind, linkKey(l.Secret), record.Encode(stored), tx.Now, l.ExpiresAt),
			entry(CodeKind, codeKey(code), []byte(linkKey(l.Secret)), tx.Now, l.ExpiresAt))
	})
	if err != nil {
		return api.Link{}, fmt.Errorf("start link: %w", err)
	}
	return l, nil
}

func entry(kind, key string, data []byte, now, expires time.Time) store.Entry {
	return store.Entry{Kind: kind, Key: key, Data: data, CreatedAt: now, ExpiresAt: expires, Move: store.Passing}
}

// find returns an entry that has not expired, or [api.ErrLinkGone].
func find(ctx context.Context, r store.Reader, kind, key string, now time.Time) (store.Entry, error) {
	e, err := r.Entry(ctx, kind, key)
	if errors.Is(err, store.ErrNotFound) || err == nil && !now.Before(e.ExpiresAt) {
		return store.Entry{}, api.ErrLinkGone
	}
	return e, err
}

// findLink returns the link with a key, and when it ends.
func findLink(ctx context.Context, r store.Reader, key string, now time.Time) (l link, end time.Time, err error) {
	e, err := find(ctx, r, LinkKind, key, now)
	if err == nil {
		err = call.Decode(e.Data, &l)
	}
	return l, e.ExpiresAt, err
}

// Poll returns what the customer has decided, with the current key of the license.
// It returns [api.ErrLinkGone] if the link has ended or was declined, or if the activation
// of the approval was released since, or has left with the license.
func (s Service) Poll(ctx context.Context, p api.PollLinkParams) (state api.LinkState, err error) {
	if err := call.Check(p); err != nil {
		return api.LinkState{}, err
	}
	return call.View(ctx, s.Call, "poll link", func(r store.Reader) (state api.LinkState, err error) {
		state = api.LinkState{Object: "link_state", Status: api.LinkPending}
		now := s.Now()
		l, _, err := findLink(ctx, r, linkKey(p.Secret), now)
		if err != nil || l.LicenseID == "" {
			return state, err
		}
		rec, err := licenses.Of(s.Call).Find(ctx, r, l.LicenseID)
		if errors.Is(err, api.ErrNotFound) {
			return state, api.ErrLinkGone
		}
		if err != nil {
			return state, err
		}
		v, err := seats.Of(s.Call).VerdictOn(ctx, r, rec, l.ActivationID, now)
		if errors.Is(err, api.ErrNotFound) {
			return state, api.ErrLinkGone
		}
		if err != nil {
			return state, err
		}
		if a := v.Activation; a == nil || a.Status == api.ActivationReleased || a.Status == api.ActivationEvicted {
			return state, api.ErrLinkGone
		}
		state.Status, state.Key, state.Verdict = api.LinkApproved, rec.Key, &v
		return state, nil
	})
}
