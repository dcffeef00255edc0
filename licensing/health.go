package licensing

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/files"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/feed"
	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
	"github.com/seed-d8a106b4/licensekit/store"
)

// A Health reports what an operator may have to act on. GET /ready?verbose has
// it as JSON.
type Health struct {
	Status string `json:"status"` // "ready", or "unavailable" if the store does not answer or is damaged

	// Version is that of licensekit; see [api.ModuleVersion].
	Version string `json:"version"`

	// Problems are the conditions to act on, by code; empty: none.
	Problems []HealthProblem `json:"problems"`

	// Running is false if the work that follows the clock, expiry notices, is
	// overdue: no process has run [Handler.Run] for more than an hour, or
	// ever.
	Running bool `json:"running"`

	// Subscribers are the subscribers that have a stored position, in any
	// process.
	Subscribers []SubscriberLag `json:"subscribers"`

	// Secrets are how many webhook secrets are encrypted.
	Secrets files.SecretCounts `json:"secrets"`

	// SigningKeys are how many private keys that sign license files are
	// encrypted.
	SigningKeys files.SecretCounts `json:"signing_keys"`

	// OldestEvent is when the oldest event that is kept was written; nil:
	// there are no events.
	OldestEvent *time.Time `json:"oldest_event"`

	// WaitingPurchases are how many purchases wait, with or without a license, because
	// there is no plan with their plan ID or it is one of another product than the
	// license, because no event has named the license that they add to, or because that
	// has too many. At most 1,000 of each are counted.
	WaitingPurchases int `json:"waiting_purchases"`

	// Waiting are the first 20 of each.
	Waiting []WaitingPurchase `json:"waiting"`
}

// A WaitingPurchase is a purchase that waits; see Service.GetPurchase of package
// selling.
type WaitingPurchase struct {
	Reference string      `json:"reference"`
	Waiting   api.Waiting `json:"waiting"`
	LicenseID string      `json:"license_id,omitempty"` // empty: none
}

// waitingListed is how many purchases of each kind Health.Waiting has.
const waitingListed = 20

// A HealthProblem is one condition to act on.
type HealthProblem struct {
	Code    HealthCode `json:"code"`
	Subject string     `json:"subject,omitempty"` // the subscriber, the ID of the webhook or the product, if it is about one
	Detail  string     `json:"detail"`
	Since   *time.Time `json:"since"` // nil: unknown
}

// A SubscriberLag is how far a subscriber is behind the event feed.
type SubscriberLag struct {
	Name   string     `json:"name"`
	Events int64      `json:"events"` // how many events it has not received, including those of other types
	Since  *time.Time `json:"since"`  // when the first of them was written; nil: none
	// LastError is the error of the last failure, if the subscriber keeps
	// failing on one event: at most about 500 bytes. Empty: none.
	LastError string `json:"last_error"`
}

// retentionSlack is how long after its time an event may still be there.
const retentionSlack = 24 * time.Hour

// Health reads the state of the service from the store, and adds what this process
// has seen of the store and of requests. It needs no token, so a host can serve it on
// an address of its own when no client can get one.
func (h *Handler) Health(ctx context.Context) Health {
	err := h.store.answers(ctx)
	if err == nil || errors.Is(err, store.ErrDamaged) {
		var out Health
		if out, err = h.readHealth(ctx); err == nil {
			return out
		}
	}
	out := Health{Status: "unavailable", Version: api.ModuleVersion(), Subscribers: []SubscriberLag{}, Waiting: []WaitingPurchase{}}
	if feed.StoreErrorKind(err) != "" || ctx.Err() != nil {
		out.Problems = []HealthProblem{{Code: HealthStore, Detail: "The store does not answer: " + err.Error()}}
	} else { // a record that cannot be decoded
		h.requests.add("Health", err)
		if h.store.damage.Load() == nil {
			out.Status = "ready"
		}
	}
	out.Problems = append(out.Problems, h.ownProblems()...)
	return out
}

// ownProblems returns what this process has seen of the store and of requests.
func (h *Handler) ownProblems() (found []HealthProblem) {
	add := func(code HealthCode, f *failure, detail string) {
		if f != nil {
			found = append(found, HealthProblem{Code: code, Detail: detail + f.err.Error(), Since: &f.since})
		}
	}
	add(HealthDamaged, h.store.damage.Load(), "The store has reported damaged data; check it, and restore a backup: ")
	if f := h.store.failing(); f != nil && errors.Is(f.err, store.ErrFull) {
		add(HealthWrites, f, "Changes fail, because the storage is full; make room for it: ")
	} else {
		add(HealthWrites, f, "Changes fail: ")
	}
	for _, j := range h.engine.FailingJobs() {
		found = append(found, HealthProblem{Code: HealthJob, Subject: j.Name, Since: &j.Since,
			Detail: fmt.Sprintf("Background work has failed %d times in a row; it is tried again, and the log has each error. The last one: %v", j.Failures, j.Err)})
	}
	for _, p := range inner.Of(h.service).Payments().Problems() {
		found = append(found, HealthProblem{Code: HealthPayment, Subject: p.Provider, Since: &p.Since,
			Detail: "What the payment provider reports fails; the log has each error. The last one: " + p.Detail})
	}
	if f := h.requests.recent(); f != nil {
		add(HealthRequests, f, "Requests are answered 500; the log has the error of each. The last one is of "+f.route+": ")
	}
	return found
}

func (h *Handler) readHealth(ctx context.Context) (Health, error) {
	out := Health{Status: "ready", Version: api.ModuleVersion(), Problems: []HealthProblem{}, Subscribers: []SubscriberLag{}, Waiting: []WaitingPurchase{}}
	backlog, err := h.engine.Backlog(ctx)
	if err != nil {
		return Health{}, err
	}
	letters, err := h.engine.DeadLetters(ctx, "")
	if err != nil {
		return Health{}, err
	}
	troubled, err := inner.Of(h.webhooks).Troubled(ctx)
	if err != nil {
		return Health{}, err
	}
	secrets, err := inner.Of(h.webhooks).SecretCounts(ctx)
	if err != nil {
		return Health{}, err
	}
	out.Secrets = files.SecretCounts(secrets)
	if out.SigningKeys, err = h.files.SecretCounts(ctx); err != nil {
		return Health{}, err
	}
	lists, err := inner.Of(h.files).TroubledLists(ctx)
	if err != nil {
		return Health{}, err
	}
	events, err := h.store.Events(ctx, store.EventQuery{Limit: 2})
	if err != nil {
		return Health{}, err
	}
	n, waiting, err := inner.Of(h.service).Purchases().WaitingPurchases(ctx, waitingListed)
	if err != nil {
		return Health{}, err
	}
	out.WaitingPurchases = n
	for _, p := range waiting {
		out.Waiting = append(out.Waiting, WaitingPurchase{p.Reference, p.Waits, p.LicenseID})
	}
	out.Running = backlog.Running
	for _, l := range backlog.Lags {
		lag := SubscriberLag{Name: l.Name, Events: l.Events, Since: l.Since}
		for _, f := range backlog.Failing {
			if f.Name == l.Name {
				lag.LastError = f.Error
			}
		}
		out.Subscribers = append(out.Subscribers, lag)
	}
	if len(events) > 0 {
		out.OldestEvent = &events[0].Time
	}

	out.Problems = append(out.Problems, h.ownProblems()...)
	if h.store.damage.Load() != nil {
		out.Status = "unavailable"
	}
	add := func(code HealthCode, subject string, since *time.Time, format string, args ...any) {
		out.Problems = append(out.Problems, HealthProblem{Code: code, Subject: subject, Detail: fmt.Sprintf(format, args...), Since: since})
	}
	if n, first, err := inner.Of(h.service).Sales().Uncounted(ctx, h.store); err != nil {
		return Health{}, err
	} else if n > 0 {
		add(HealthUncounted, "", nil, "Sales do not have %d events that could not be counted, the first is %s; the log has the error of each.", n, first)
	}
	if !backlog.Running {
		add(HealthNotRunning, "", nil, "No process runs Handler.Run: webhooks, subscribers, expiry notices and cleanup are on hold.")
	}
	if backlog.Waiting {
		add(HealthOverdue, "", backlog.DueSince, "Events or deliveries have waited for more than a minute.")
	}
	for _, f := range backlog.Failing {
		add(HealthSubscriber, f.Name, &f.Since, "The subscriber has failed %d times in a row on event %s; later events wait.", f.Failures, f.EventID)
	}
	for len(letters) > 0 { // ordered by subscriber
		first, n := letters[0], 0
		for n < len(letters) && letters[n].Subscriber == first.Subscriber {
			n++
		}
		add(HealthDeadLetters, first.Subscriber, &first.At, "The subscriber gave up on events: %d, the first of them %s.", n, first.EventID)
		letters = letters[n:]
	}
	for _, w := range troubled {
		if w.Status == api.WebhookActive {
			add(HealthWebhookFailing, w.ID, w.FailingSince, "Every delivery to the webhook fails.")
		}
	}
	for _, w := range troubled {
		if w.Status == api.WebhookDisabled {
			add(HealthWebhookDisabled, w.ID, w.FailingSince, "The webhook is disabled: %s.", w.StatusReason)
		}
	}
	for _, a := range backlog.Ahead {
		add(HealthPositionAhead, a.Name, nil, "The stored position, event %d, is above the newest event, %d: the feed has lost events without the position, and events up to it are skipped.", a.Position, backlog.Newest)
	}
	if n := out.Secrets.Unreadable; n > 0 {
		add(HealthSecretsUnreadable, "", nil, "%d webhook secrets are encrypted with another Options.MasterKey; deliveries wait until they are rotated.", n)
	}
	if n := out.SigningKeys.Unreadable; n > 0 {
		add(HealthSecretsUnreadable, "", nil, "%d private keys of license files are encrypted with another Options.MasterKey; they cannot sign.", n)
	}
	if n := out.Secrets.Clear; n > 0 {
		add(HealthSecretsClear, "", nil, "%d webhook secrets are stored in plain text; set Options.MasterKey and call Handler.ReencryptSecrets.", n)
	}
	if n := out.SigningKeys.Clear; n > 0 {
		add(HealthSecretsClear, "", nil, "%d private keys of license files are stored in plain text; set Options.MasterKey and call Handler.ReencryptSecrets.", n)
	}
	// The newest event is always kept, so one old event is no problem.
	if keep := h.opts.Events.Retention; keep > 0 && len(events) > 1 {
		if due := events[0].Time.Add(keep); h.opts.Now().After(due.Add(retentionSlack)) {
			add(HealthRetention, "", &due, "Events older than Options.Events.Retention are still kept, for a consumer that needs them or because Handler.Run does not run.")
		}
	}
	for _, l := range lists {
		if !l.Ahead {
			continue
		}
		var since *time.Time
		if !l.Since.IsZero() {
			since = &l.Since
		}
		add(HealthListAhead, l.ProductID, since, "A revocation list of the product was signed with a clock more than a day ahead of this one, so one of them is wrong. Programs refuse that list; later lists start from the present time.")
	}
	for _, l := range lists {
		switch {
		case l.Named > licensefile.MaxListed:
			add(HealthListLarge, l.ProductID, nil, "More than %d licenses belong on the revocation list of the product, which is therefore not signed. Programs ask for the list of their license instead; those of versions before it keep the last list that they got.", licensefile.MaxListed)
		case l.Named > 0:
			add(HealthListLarge, l.ProductID, nil, "The revocation list of the product has %d licenses. It can have %d; licenses leave it when their files have expired.", l.Named, licensefile.MaxListed)
		}
	}
	if office := inner.Of(h.files).Office(); office != nil {
		if notice, since := officeEnding(office, h.opts.Now()); notice != "" {
			add(HealthOfficeEnding, office.ProductID, &since, "The license file of the office %s, at %s. Take a request of the office to the vendor, and install the answer.", notice, office.ExpiresAt.Format(time.RFC3339))
		}
	}
	return out, nil
}
