package program

import (
	"context"
	"errors"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
)

// listEvery is after how long another revocation list is fetched.
const listEvery = 24 * time.Hour * 9 / 10

// updateList fetches the revocation list if it is time to: once a day, when the
// verdict changes, when it is about another license, and as long as no license has
// the key of the license file, because then only the list tells a deleted license from a
// service that lies. A list that does not count is fetched again with the next check.
func (l *License) updateList(ctx context.Context, code api.Code) {
	l.mu.Lock()
	due := l.listAt.IsZero() || time.Since(l.listAt) >= listEvery || code != l.listCode || code == api.VerdictNotFound && l.file != nil
	licenseID := ""
	if l.file != nil {
		licenseID = l.file.LicenseID
		due = due || l.revoked != nil && !l.revoked.Covers(licenseID)
	}
	l.mu.Unlock()
	if !due {
		return
	}
	text, err := l.list(ctx, "")
	if licenseID != "" && codeOf(err) == api.CodeListTooLarge {
		text, err = l.list(ctx, licenseID)
	}
	if ctx.Err() != nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err == nil {
		err = l.takeList(text)
	}
	if l.listError = err; err == nil {
		l.listAt, l.listCode = time.Now(), code
		l.unsaved[listName] = l.listText
		l.save()
	}
}

// takeList verifies a revocation list, and uses it if it is the newest. The error
// says why it does not count: a list about another license does not replace one
// that is about the license in use. The caller holds l.mu.
func (l *License) takeList(text string) error {
	keys := l.keys
	if l.revoked != nil {
		keys = keys.Condemn(l.revoked.CondemnedKeys...)
	}
	list, err := keys.VerifyRevocations(text)
	if err == nil {
		err = list.Check(l.product, l.clock.now())
		if l.lent() && errors.Is(err, licensefile.ErrStaleList) {
			err = nil
		}
		if l.file != nil && !list.Covers(l.file.LicenseID) {
			err = licensefile.ErrOtherLicense
		}
	}
	if err != nil && !errors.Is(err, licensefile.ErrStaleList) {
		return err
	}
	if l.revoked == nil || keys.Newer(list, *l.revoked) {
		l.revoked, l.listText = &list, text // a stale list still refuses what it names
	}
	return err
}
