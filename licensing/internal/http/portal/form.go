package portal

import (
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/web"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
)

// release releases an activation and shows the license.
func release(v *visit) error {
	_, err := v.customer.Release(v.r.Context(), v.id, v.r.PostFormValue("device"))
	if held, ok := errors.AsType[*api.SeatHeldError](err); ok {
		return v.showLicense(http.StatusConflict, v.text("SeatHeld", "date", v.lastDay(&held.OfflineUntil)), "")
	}
	if err != nil {
		return err
	}
	return v.redirect(v.id + "?released")
}

// redirect sends the browser to a page after a form.
func (v *visit) redirect(page string) error {
	v.w.Header().Set("Location", v.root()+page)
	v.w.WriteHeader(http.StatusSeeOther)
	return nil
}

// downloadFile responds with a license file for an activation.
func downloadFile(v *visit) error {
	file, err := v.customer.LicenseFile(v.r.Context(), v.id, v.r.PostFormValue("device"))
	return v.send(file, err, "")
}

// answerRequest responds with the license file for a request text, which is
// pasted or uploaded.
func answerRequest(v *visit) error {
	text := v.r.PostFormValue("request")
	if upload, _, err := v.r.FormFile("file"); err == nil && strings.TrimSpace(text) == "" {
		content, err := io.ReadAll(upload)
		_ = upload.Close()
		if err != nil {
			return err
		}
		text = string(content)
	}
	file, err := v.customer.AnswerRequest(v.r.Context(), v.id, strings.TrimSpace(text))
	return v.send(file, err, strings.ToValidUTF8(text, ""))
}

// send responds with a license file, or with the page of the license if the rules
// refuse it. The page keeps the request text.
func (v *visit) send(file license.File, err error, request string) error {
	if name := refusal(err, licensefile.IsOfficeRequest(request)); name != "" {
		return v.showLicense(http.StatusConflict, v.text(name), request)
	}
	if err != nil {
		return err
	}
	claims := file.FileClaims()
	text, err := v.h.opts.Sign(v.r.Context(), *claims)
	if err != nil {
		return err
	}
	web.DownloadFile(v.w, file, text)
	return nil
}

// refusal returns the name of the text for an error of the rules that the customer
// can understand, or "".
func refusal(err error, office bool) string {
	wrong, invalid := errors.AsType[*api.InvalidError](err)
	switch {
	case office && (errors.Is(err, api.ErrActivationLimit) || invalid && wrong.Fields[0].Code == api.FieldOutOfRange):
		return "OfficeFull"
	case errors.Is(err, api.ErrActivationLimit):
		return "DevicesFull"
	case errors.Is(err, api.ErrDenied):
		return "NotValid"
	case errors.Is(err, api.ErrNoFile), invalid && wrong.Fields[0].Code == api.FieldTooMany: // entitlements
		return "NoOffline"
	case invalid:
		return "BadRequest"
	}
	return ""
}
