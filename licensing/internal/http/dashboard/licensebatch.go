package dashboard

import (
	"net/http"
	"strconv"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/forms"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/kit"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// batchFor is how long a request creates licenses. Then the operator decides whether to
// continue.
const batchFor = 20 * time.Second

// createBatch creates licenses that are alike, at most a hundred in an Update, and returns the
// page that lists them. If the form is sent again, it creates those that are missing.
func createBatch(v *kit.Visit, p *forms.FormPage, params api.CreateLicenseParams, n int64) (to string, err error) {
	if n < 1 || n > 1000 {
		return "", api.Invalid("count", api.FieldOutOfRange, "must be between 1 and 1,000")
	}
	p.Form.Once = p.Form.Mark()
	exist, start := 0, v.Opts.Now()
	for exist < int(n) {
		if exist > 0 {
			if err := v.CheckAccess(); err != nil {
				return "", err
			}
			if v.Opts.Now().Sub(start) >= batchFor {
				p.Text, p.Action = []string{kit.Thousands(int64(exist)) + " of " + kit.Thousands(n) + " licenses exist."}, "Continue"
				p.Then = func(v *kit.Visit) error { return forms.RenderForm(v, http.StatusOK, p) }
				return "", nil
			}
		}
		batch := api.CreateBatchParams{Count: min(api.MaxBatch, int(n)-exist), CreateLicenseParams: params}
		prepare, create := inner.Of(v.Licenses).CreateBatchInParts(v.R.Context(), batch)
		made, _, err := inner.Of(v.Licenses).OncePrepared(v.R.Context(), p.Form.Once+"/"+strconv.Itoa(exist), "", prepare, func(in *license.Service) ([]byte, error) {
			b, err := create(in)
			return []byte(strconv.Itoa(len(b.Data))), err
		})
		if err != nil {
			return "", err
		}
		some, err := strconv.Atoi(string(made)) // as many as the form asked for when they were created
		if err != nil {
			return "", err
		}
		exist += some
	}
	p.Done = kit.Count(int(n), "license") + " of " + params.CustomerID + " exist. Export them for their keys."
	return "licenses?" + Filter{Customer: params.CustomerID}.query().Encode(), nil
}
