package portal

import (
	"cmp"
	"errors"
	"net/http"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/web"
)

// A linkView is what the page of a link shows: the form for a code or, if Code is set, the
// program that asks, with the licenses that it can have or the devices of the one that is
// full.
type linkView struct {
	Problem  string
	Done     string // what the customer has just done, in words; empty: nothing
	Declined bool
	claimed  string // the product of the license that was just claimed; empty: none was

	Code, Product, Device string
	Licenses              []licenseView
	Chosen                string // ID of the first one with a free seat, or else of the first one
	Buy                   string // URL
	License               string // ID of the one that is full
	Devices               []device
}

// showLink shows the program that asks with the code in the query.
func showLink(v *visit) error {
	query := v.r.URL.Query()
	code := query.Get("code")
	if code == "" {
		return v.render(http.StatusOK, "link", v.text("LinkTitle"), linkView{Declined: query.Has("declined")})
	}
	if err := web.LimitCustomer(v.r, v.who); err != nil {
		return err
	}
	if err := web.LimitAddress(v.r); err != nil {
		return err
	}
	return v.showLink(http.StatusOK, code, linkView{claimed: query.Get("claimed")})
}

// showLink completes a view with the program that asks with a code, and shows it.
func (v *visit) showLink(status int, code string, body linkView) error {
	request, err := v.customer.Link(v.r.Context(), code)
	if errors.Is(err, api.ErrLinkGone) {
		return v.render(http.StatusNotFound, "link", v.text("LinkTitle"), linkView{Problem: v.text("LinkGone")})
	}
	if err != nil {
		return err
	}
	body.Code, body.Product, body.Device = request.Code, v.product(request.ProductID), cmp.Or(request.Name, request.Fingerprint)
	switch body.claimed {
	case "":
	case request.ProductID, request.AlsoProductID:
		body.Done = v.text("Claimed")
	default:
		body.Done = v.text("ClaimedOther")
	}
	if body.License == "" {
		own := func(api.License) bool { return true }
		if body.Licenses, err = v.validLicenses(request.ProductID, own); err != nil {
			return err
		}
		if also := request.AlsoProductID; also != "" {
			some, err := v.validLicenses(also, func(l api.License) bool { return inner.Of(v.licenses).Links().Includes(l, request.ProductID, also) })
			if err != nil {
				return err
			}
			body.Licenses = append(body.Licenses, some...)
		}
		if err := v.chooseFree(&body); err != nil {
			return err
		}
		if len(body.Licenses) == 0 && v.h.opts.Buy != nil {
			body.Buy = v.h.opts.Buy(request.ProductID)
		}
	}
	return v.render(status, "link", v.text("LinkTitle"), body)
}

// chooseFree chooses the first license with a free seat. The others say how many are in use.
func (v *visit) chooseFree(body *linkView) error {
	for i, l := range body.Licenses {
		free := l.MaxActivations == nil
		if !free {
			devices, err := v.activeDevices(l.ID)
			if err != nil {
				return err
			}
			if free = int64(len(devices)) < *l.MaxActivations; !free {
				body.Licenses[i].State = v.devicesUsed(len(devices), *l.MaxActivations)
			}
		}
		if body.Chosen == "" && free {
			body.Chosen = l.ID
		}
	}
	if body.Chosen == "" && len(body.Licenses) > 0 {
		body.Chosen = body.Licenses[0].ID
	}
	return nil
}

// validLicenses returns some of the newest licenses of the customer for a product that are valid.
func (v *visit) validLicenses(productID string, some func(api.License) bool) (list []licenseView, err error) {
	page, err := v.licenses.List(v.r.Context(), api.ListLicensesParams{ProductID: productID, NewestFirst: true, Limit: 200})
	if err != nil {
		return nil, err
	}
	for _, l := range page.Data {
		verdict := v.verdict(l)
		if !verdict.Valid || !some(l) {
			continue
		}
		view, err := v.view(l, verdict)
		if err != nil {
			return nil, err
		}
		list = append(list, view)
	}
	return list, nil
}

// decideLink approves or declines.
func decideLink(v *visit) error {
	if err := web.LimitAddress(v.r); err != nil { // before a code is tried
		return err
	}
	code := v.r.PostFormValue("code")
	if v.r.PostFormValue("decision") != "approve" {
		err := v.customer.DeclineLink(v.r.Context(), code)
		if err != nil && !errors.Is(err, api.ErrLinkGone) {
			return err
		}
		return v.redirect("link?declined")
	}
	p := api.ApproveLinkParams{Code: code, LicenseID: v.r.PostFormValue("license"), TakeOver: v.r.PostFormValue("device")}
	_, err := v.customer.ApproveLink(v.r.Context(), p)
	if err == nil {
		return v.redirect(p.LicenseID + "?linked")
	}
	body := linkView{}
	held, isHeld := errors.AsType[*api.SeatHeldError](err)
	_, invalid := errors.AsType[*api.InvalidError](err)
	switch {
	case errors.Is(err, api.ErrActivationLimit):
		body.License, body.Problem = p.LicenseID, v.text("LinkFull")
	case isHeld:
		body.License, body.Problem = p.LicenseID, v.text("SeatHeld", "date", v.lastDay(&held.OfflineUntil))
	case errors.Is(err, api.ErrUsageLimit):
		body.Problem = v.text("LinkUsed")
	case errors.Is(err, api.ErrDenied), invalid: // no license was chosen
		body.Problem = v.text("LinkNotValid")
	case !errors.Is(err, api.ErrLinkGone):
		return err
	}
	if body.License != "" {
		if body.Devices, err = v.activeDevices(body.License); err != nil {
			return err
		}
	}
	return v.showLink(http.StatusConflict, code, body)
}

// activeDevices returns the first devices that use a license.
func (v *visit) activeDevices(licenseID string) (list []device, err error) {
	page, err := v.customer.Activations(v.r.Context(), api.ListActivationsParams{LicenseID: licenseID, Limit: 200})
	for _, a := range page.Data {
		list = append(list, v.device(a))
	}
	return list, err
}
