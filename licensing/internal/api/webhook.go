package api

import (
	"net/http"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/web"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// A newSecret is a webhook with the secret that is shown this once.
type newSecret struct {
	license.Webhook
	Secret string `json:"secret"`
}

// createWebhook is POST /webhook.
func (a api) createWebhook(w http.ResponseWriter, r *http.Request) error {
	body, err := readForSecret(r)
	if err != nil {
		return err
	}
	p := license.CreateWebhookParams{
		URL:         value(body.Text("url")),
		Description: value(body.Text("description")),
		Types:       body.List("types"),
		Products:    body.List("products"),
	}
	p.Faults = body.Faults()
	hook, secret, err := a.rules(r).CreateWebhook(r.Context(), p)
	if err != nil {
		return err
	}
	w.Header().Set("Location", web.Link(r, "webhook", hook.ID))
	return web.WriteJSON(w, http.StatusCreated, newSecret{hook, secret})
}

// listWebhooks is GET /webhook. There are never more than fit on a page.
func (a api) listWebhooks(w http.ResponseWriter, r *http.Request) error {
	if err := web.ReadQuery(r).Err(); err != nil {
		return err
	}
	all, err := a.rules(r).Webhooks(r.Context())
	if err != nil {
		return err
	}
	return web.WriteJSON(w, http.StatusOK, listOf(all, ""))
}

// getWebhook is GET /webhook/{webhookID}.
func (a api) getWebhook(w http.ResponseWriter, r *http.Request) error {
	if err := web.ReadQuery(r).Err(); err != nil {
		return err
	}
	hook, err := a.rules(r).Webhook(r.Context(), web.Param(r, "webhookID"))
	if err != nil {
		return err
	}
	return web.WriteJSON(w, http.StatusOK, hook)
}

// updateWebhook is PATCH /webhook/{webhookID}.
func (a api) updateWebhook(w http.ResponseWriter, r *http.Request) error {
	if err := web.ReadQuery(r).Err(); err != nil {
		return err
	}
	if err := web.Unconditional(r); err != nil {
		return err
	}
	body, err := web.ReadObject(r, web.JSON, web.MergePatch)
	if err != nil {
		return err
	}
	p := license.UpdateWebhookParams{
		ID:          web.Param(r, "webhookID"),
		URL:         body.Text("url"),
		Description: body.Text("description"),
	}
	if body.Has("types") {
		types := body.List("types")
		p.Types = &types
	}
	if status := body.Text("status"); status != nil {
		p.Status = (*license.WebhookStatus)(status)
	}
	body.Refuse("cannot be changed by a patch; leave it out",
		"object", "id", "products", "status_reason", "failing_since", "secrets", "created_at", "updated_at")
	p.Faults = body.Faults()
	return web.Once(w, r, a.rules(r), web.Change{
		Body: body,
		Do: func(rules *license.Service) (web.Reply, error) {
			hook, err := rules.UpdateWebhook(r.Context(), p)
			return reply(http.StatusOK, hook, err)
		},
	})
}

// deleteWebhook is DELETE /webhook/{webhookID}.
func (a api) deleteWebhook(w http.ResponseWriter, r *http.Request) error {
	if err := web.ReadQuery(r).Err(); err != nil {
		return err
	}
	if err := web.NoBody(r); err != nil {
		return err
	}
	if err := web.Unconditional(r); err != nil {
		return err
	}
	id := web.Param(r, "webhookID")
	if err := a.rules(r).DeleteWebhook(r.Context(), id); err != nil {
		return err
	}
	return web.WriteJSON(w, http.StatusOK, struct {
		Object  string `json:"object"`
		ID      string `json:"id"`
		Deleted bool   `json:"deleted"`
	}{"webhook", id, true})
}

// defaultOverlap is how long an old secret goes on if a rotation does not say.
const defaultOverlap = 24 * time.Hour

// rotateWebhook is POST /webhook/{webhookID}/rotate.
func (a api) rotateWebhook(w http.ResponseWriter, r *http.Request) error {
	body, err := readForSecret(r)
	if err != nil {
		return err
	}
	p := license.RotateWebhookParams{ID: web.Param(r, "webhookID"), Overlap: defaultOverlap}
	if seconds := body.Int("overlap_seconds"); seconds != nil {
		p.Overlap = time.Duration(min(*seconds, 1<<32)) * time.Second // beyond the bound of the rules, and no overflow
		if *seconds < 0 {
			p.Overlap = -1
		}
	}
	if faults := body.Faults(); len(faults) > 0 {
		return &license.InvalidError{Fields: faults}
	}
	hook, secret, err := a.rules(r).RotateWebhookSecret(r.Context(), p)
	if err != nil {
		return err
	}
	return web.WriteJSON(w, http.StatusOK, newSecret{hook, secret})
}

// readForSecret reads a request whose answer has a secret in it. Such an
// answer is not kept, and so cannot be given again.
func readForSecret(r *http.Request) (*web.Object, error) {
	if err := web.ReadQuery(r).Err(); err != nil {
		return nil, err
	}
	if err := web.Unconditional(r); err != nil {
		return nil, err
	}
	if r.Header.Get("Idempotency-Key") != "" {
		return nil, web.Invalid(web.Fault{Header: "Idempotency-Key", Code: license.CodeUnknown,
			Detail: "does not work here, because the secret in the answer is not kept; leave it out"})
	}
	return web.ReadOptionalObject(r, web.JSON)
}

// reply is the answer to a change, or its error.
func reply(status int, v any, err error) (web.Reply, error) {
	if err != nil {
		return web.Reply{}, err
	}
	body, err := web.Marshal(v)
	return web.Reply{Status: status, Body: body}, err
}
