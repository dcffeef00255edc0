package dashboard

import (
	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/selling"
)

// about returns a form about a record, which it reads for each build.
func about[T any](get func(*visit) (T, error), build func(*visit, T) (*formPage, error)) func(*visit) (*formPage, error) {
	return func(v *visit) (*formPage, error) {
		record, err := get(v)
		if err != nil {
			return nil, err
		}
		return build(v, record)
	}
}

// showing returns the handler of a page that shows a record.
func showing[T any](get func(*visit) (T, error), show func(*visit, T) error) func(*visit) error {
	return func(v *visit) error {
		record, err := get(v)
		if err != nil {
			return err
		}
		return show(v, record)
	}
}

// The records of the paths of pages.

func (v *visit) license() (api.License, error) {
	return v.licenses.Get(v.r.Context(), v.r.PathValue("id"))
}

func (v *visit) plan() (api.Plan, error) {
	return selling.New(v.licenses).GetPlan(v.r.Context(), v.r.PathValue("id"))
}

func (v *visit) purchase() (api.Fulfillment, error) {
	return selling.New(v.licenses).GetFulfillment(v.r.Context(), v.r.PathValue("reference"))
}

// customer returns the customer ID in the query.
func (v *visit) customer() (string, error) {
	id := v.r.URL.Query().Get("id")
	if id == "" {
		return "", notFound("This page does not exist.")
	}
	return id, nil
}

func (v *visit) credential() (auth.Client, error) {
	return v.auth.GetClient(v.r.Context(), v.r.PathValue("id"))
}

func (v *visit) webhook() (webhookRow, error) {
	w, err := v.webhooks.Get(v.r.Context(), v.r.PathValue("id"))
	return webhookRow{Webhook: w}, err
}
