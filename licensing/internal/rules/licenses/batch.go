package licenses

import (
	"context"
	"fmt"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/plans"
)

// maxBatchSize is how long the licenses of a batch can be together, in bytes of JSON: the
// stored reply to a request with an Idempotency-Key must fit in a document of a store.
const maxBatchSize = 512 << 10

// CreateBatch adds licenses that are alike, in one Update; see package license.
func (s Service) CreateBatch(ctx context.Context, p api.CreateBatchParams) (api.Batch, error) {
	prepare, change := s.CreateBatchInParts(ctx, p)
	if err := prepare(); err != nil {
		return api.Batch{}, err
	}
	return change(s.Call)
}

// CreateBatchInParts returns the parts of CreateBatch for OncePrepared:
// Options.BeforeCreate runs before the Update, once for each license.
func (s Service) CreateBatchInParts(ctx context.Context, p api.CreateBatchParams) (prepare func() error, change func(*call.Call) (api.Batch, error)) {
	var all []api.CreateLicenseParams
	prepare = func() (err error) {
		all, err = s.prepareBatch(ctx, p)
		return err
	}
	return prepare, func(in *call.Call) (api.Batch, error) {
		return call.Do(ctx, in, "create batch", func(tx *call.Tx) (api.Batch, error) {
			batch, joined := api.Batch{Object: "license_batch"}, *in
			joined.Tx = tx
			for _, one := range all {
				l, err := Of(&joined).create(ctx, one)
				if err != nil {
					return api.Batch{}, err
				}
				batch.Data = append(batch.Data, l)
			}
			return batch, nil
		})
	}
}

// prepareBatch returns the checked parameters of each license of a batch, or an error if the
// result would be too long.
func (s Service) prepareBatch(ctx context.Context, p api.CreateBatchParams) (all []api.CreateLicenseParams, err error) {
	if err := call.InvalidFields(CheckBatch(&p)); err != nil {
		return nil, err
	}
	if p.PlanID != "" {
		if err := plans.Of(s.Call).FillPlan(ctx, s.Reader(), &p.CreateLicenseParams); err != nil {
			return nil, err
		}
	}
	for size := 0; len(all) < p.Count; {
		one := Clone(p.CreateLicenseParams)
		if s.Opts.BeforeCreate != nil {
			err = s.BeforeCreate(ctx, &one)
		}
		if err == nil {
			err = s.CheckFields(&one)
		}
		if err != nil {
			return nil, err
		}
		rec := NewRecord(s.Now())
		WriteFields(one, &rec)
		const more = 100 // what only the Update knows, such as "starts"
		if size += len(record.Encode(FromParts(rec, one.Entitlements, one.Metadata, one.Meters, rec.CreatedAt))) + more; size > maxBatchSize {
			return nil, api.Invalid("count", api.FieldOutOfRange, fmt.Sprintf("must be at most %d for licenses of this size", len(all)))
		}
		all = append(all, one)
	}
	return all, nil
}

// CheckBatch checks the parameters of a batch.
func CheckBatch(p *api.CreateBatchParams) []api.FieldError {
	broken := append(call.CheckTags(struct {
		Count int `json:"count" validate:"min=1,max=100"`
	}{p.Count}), call.CheckGiven(&p.CreateLicenseParams)...)
	if p.Key != "" {
		broken = append(broken, api.FieldError{Field: "key", Code: api.FieldUnknown, Detail: "must be empty: each license of a batch gets a key of its own"})
	}
	return broken
}
