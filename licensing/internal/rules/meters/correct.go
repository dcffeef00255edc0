package meters

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/licenses"
	"github.com/seed-d8a106b4/licensekit/store"
)

// CorrectUsage sets what was used of a meter in one period; see package metering.
func (s Service) CorrectUsage(ctx context.Context, p api.CorrectUsageParams) (corrected api.UsagePeriod, err error) {
	if err := call.Check(p); err != nil {
		return api.UsagePeriod{}, err
	}
	return call.Do(ctx, s.Call, "correct usage", func(tx *call.Tx) (corrected api.UsagePeriod, err error) {
		rec, err := licenses.Of(s.Call).Find(ctx, tx, p.LicenseID)
		if err != nil {
			return corrected, err
		}
		key, before, limit, err := s.rowToCorrect(ctx, tx, rec, p)
		if err != nil {
			return corrected, err
		}
		corrected = periodOf(key, before)
		if before.Used == p.Used {
			return corrected, nil
		}
		after := before
		after.Used = p.Used
		corrected.Used = p.Used
		if err := s.addTotals(ctx, tx, map[string]int64{key: after.Used - before.Used}); err != nil {
			return corrected, err
		}
		err = s.tell(ctx, tx, rec.License, key, before, after, limit, p.Reason)
		return corrected, err
	})
}

// rowToCorrect returns the row that a correction names, which need not be stored if it is
// that of the present period.
func (s Service) rowToCorrect(ctx context.Context, tx *call.Tx, rec record.License, p api.CorrectUsageParams) (key string, r row, limit *int64, err error) {
	meters, err := metersOf(rec)
	if err != nil {
		return "", r, nil, err
	}
	m, has := meters[p.Meter]
	if !has && (p.From == nil || !call.IsMeterName(p.Meter)) {
		return "", r, nil, fmt.Errorf("meter %q: %w", p.Meter, api.ErrNotFound)
	}
	in, present := spanOf(m.Per, rec, tx.Now), has
	if p.From != nil && (!has || !p.From.Equal(in.from)) {
		in, present = span{from: call.ToMillis(*p.From)}, false
	}
	key = rowKey(rec.ID, in.from, p.Meter)
	e, err := tx.Entry(ctx, MeterKind, key)
	switch {
	case err == nil:
		r, err = readRow(e)
	case errors.Is(err, store.ErrNotFound) && present:
		err = nil
	case errors.Is(err, store.ErrNotFound):
		err = api.Invalid("from", api.FieldUnknown, "is not the beginning of a period with usage; see the list of usage")
	}
	if present {
		r.To = in.to
	}
	return key, r, m.Limit, err
}
