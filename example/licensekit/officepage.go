package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"html/template"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/auth/operator"
	"github.com/seed-d8a106b4/licensekit/internal/bidi"
	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/internal/qr"
	"github.com/seed-d8a106b4/licensekit/internal/signin"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
)

const (
	// officePage is the path of the setup page. It is below the dashboard, because
	// browsers send the session of an operator to no other page.
	officePage = mount + "/dashboard/office"

	maxOfficeForm = 64 << 10
	maxSeatsAsked = 200 // by one office; the vendor refuses more
)

var (
	//go:embed office.html
	officeHTML string
	//go:embed office.css
	officeCSS string
	//go:embed office.js
	officeJS string

	officeTemplate = template.Must(template.New("office").Funcs(template.FuncMap{
		"css":       func() template.CSS { return template.CSS(officeCSS) },
		"js":        func() template.JS { return template.JS(officeJS) },
		"dashboard": func() string { return mount + "/dashboard" },
		"time":      func(t time.Time) string { return t.UTC().Format("2 January 2006, 15:04 UTC") },
	}).Parse(officeHTML))

	officePolicy = "default-src 'none'; style-src " + sourceHash(officeCSS) + "; script-src " + sourceHash(officeJS) +
		"; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

	sameOrigin = http.NewCrossOriginProtection()
)

// sourceHash returns the source of a policy that allows one inline text.
func sourceHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// ServeHTTP serves the setup page and, with an answer, the service. Without one, it
// serves the dashboard, where the first administrator signs in.
func (o *officeService) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l := o.current.Load()
	switch p := r.URL.Path; {
	case p == "/" || p == "/office" || p == "/office/":
		http.Redirect(w, r, officePage, http.StatusSeeOther)
	case p == officePage || strings.HasPrefix(p, officePage+"/"):
		o.servePage(w, r, l)
	case l.claims == nil && p != mount && p != mount+"/" && p != mount+"/health" && !strings.HasPrefix(p, mount+"/dashboard"):
		w.Header().Set("Retry-After", "10")
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusServiceUnavailable)
		json.NewEncoder(w).Encode(api.Problem{
			Type: "about:blank", Title: "Service Unavailable", Status: http.StatusServiceUnavailable, Code: "unavailable",
			Detail: "The office has no license file yet. An administrator installs it at " + officePage + ".",
		})
	default:
		l.note(r)
		l.routes.ServeHTTP(w, r)
	}
}

// servePage serves the setup page to an admin of the dashboard.
func (o *officeService) servePage(w http.ResponseWriter, r *http.Request, l *lending) {
	for name, value := range map[string]string{
		"Content-Security-Policy": officePolicy, "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store",
		"Referrer-Policy":            "same-origin", // with no-referrer, browsers would send "Origin: null" with the forms
		"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
	} {
		w.Header().Set(name, value)
	}
	if err := sameOrigin.Check(r); err != nil {
		http.Error(w, "The form was sent from another site, so nothing was changed. Submit it from "+officePage+".", http.StatusForbidden)
		return
	}
	op, err := inner.Of(l.Operators()).Session(r)
	switch {
	case errors.Is(err, signin.ErrNoSession):
		http.Redirect(w, r, mount+"/dashboard/sign-in?return=office", http.StatusSeeOther)
		return
	case err != nil:
		o.failPage(w, err)
		return
	case !op.Role.May(operator.MayManage):
		http.Error(w, "This page is for admins.", http.StatusForbidden)
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxOfficeForm)
	switch r.Method + " " + strings.TrimPrefix(r.URL.Path, officePage) {
	case "GET ", "HEAD ":
		o.show(w, r, l, "", "")
	case "GET /request":
		o.download(w, r)
	case "POST /request":
		o.ask(w, r, l)
	case "POST /back":
		if err := o.back(r.Context(), license.Caller{Actor: "operator:" + op.ID}); err != nil {
			o.show(w, r, l, sentence(err), "")
			return
		}
		http.Redirect(w, r, officePage+"?installed", http.StatusSeeOther)
	case "POST /answer":
		o.install(w, r, l, license.Caller{Actor: "operator:" + op.ID})
	default:
		http.NotFound(w, r)
	}
}

func (o *officeService) failPage(w http.ResponseWriter, err error) {
	slog.Error("setup page of the office", "error", err)
	http.Error(w, "The page cannot be shown now; the log says why.", http.StatusServiceUnavailable)
}

// ask keeps the license key and leads to the request. The key cannot change while the
// office lends: programs have it.
func (o *officeService) ask(w http.ResponseWriter, r *http.Request, l *lending) {
	if key := strings.TrimSpace(r.PostFormValue("license_key")); key != "" && l.claims == nil {
		if err := writeSecret(o.keyFile, key+"\n"); err != nil {
			o.show(w, r, l, "The license key could not be saved: "+err.Error(), "")
			return
		}
	}
	seats, err := readSeats(r.PostFormValue("seats"))
	if err == nil {
		_, err = o.request(r.Context(), seats)
	}
	if err != nil {
		o.show(w, r, l, sentence(err), "")
		return
	}
	http.Redirect(w, r, officePage+"?seats="+strconv.FormatInt(seats, 10)+"#request", http.StatusSeeOther)
}

// readSeats reads the number of seats in a form or a query.
func readSeats(text string) (int64, error) {
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil || n < 1 || n > maxSeatsAsked {
		return 0, errors.New("the number of seats must be a whole number from 1 to 200")
	}
	return n, nil
}

func (o *officeService) download(w http.ResponseWriter, r *http.Request) {
	seats, err := readSeats(r.URL.Query().Get("seats"))
	text := ""
	if err == nil {
		text, err = o.request(r.Context(), seats)
	}
	if err != nil {
		http.Error(w, sentence(err), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/jwt")
	w.Header().Set("Content-Disposition", `attachment; filename="office-request-`+time.Now().UTC().Format(time.DateOnly)+`.txt"`)
	io.WriteString(w, text)
}

// install takes an answer that is pasted or uploaded.
func (o *officeService) install(w http.ResponseWriter, r *http.Request, l *lending, by license.Caller) {
	text := r.PostFormValue("answer")
	if upload, _, err := r.FormFile("file"); err == nil && strings.TrimSpace(text) == "" {
		content, err := io.ReadAll(upload)
		if err != nil {
			o.failPage(w, err)
			return
		}
		text = string(content)
	}
	text = strings.TrimSpace(text)
	if err := o.take(r.Context(), text, by, true); err != nil {
		slog.Warn("the answer was refused", "error", err)
		o.show(w, r, l, sentence(err), strings.ToValidUTF8(text, ""))
		return
	}
	http.Redirect(w, r, officePage+"?installed", http.StatusSeeOther)
}

// sentence returns an error as a sentence of the page.
func sentence(err error) string {
	text := strings.TrimPrefix(strings.TrimPrefix(err.Error(), licensefile.ErrLent.Error()+": "), "licensefile: ")
	switch {
	case errors.Is(err, licensefile.ErrEncoding), errors.Is(err, licensefile.ErrDuplicate):
		text = errCutAnswer.Error()
	case errors.Is(err, licensefile.ErrMalformed), errors.Is(err, licensefile.ErrTruncated):
		text = "this is not the answer of the vendor to the request of an office"
	}
	return strings.ToUpper(text[:1]) + text[1:] + "."
}

// A pageView is what the setup page shows.
type pageView struct {
	Problem string // what is wrong with the form that was sent; empty: nothing
	Done    bool   // an answer was installed
	Key     string // the license key, masked; empty: there is none
	Seats   int64  // in the request; 0: not said
	Request string // empty: there is none
	QR      *qr.Drawing
	Answer  string // which was refused

	Claims  *licensefile.Claims // nil: the office does not lend yet
	Earlier *licensefile.Claims // of the answer before; nil: there is none to go back to
	Ended   bool
	Warning string // about the end of the file; empty: it is far
	Devices []api.Activation
	Meters  map[string]int64 // the totals that the request reports
}

// show shows the page, and what is wrong with the form that was sent.
func (o *officeService) show(w http.ResponseWriter, r *http.Request, l *lending, problem, answer string) {
	v, err := o.view(r.Context(), l, cmp.Or(r.URL.Query().Get("seats"), r.PostFormValue("seats")))
	var page bytes.Buffer
	if err == nil {
		v.Problem, v.Answer, v.Done = cmp.Or(problem, v.Problem), answer, r.URL.Query().Has("installed")
		err = officeTemplate.Execute(&page, v)
	}
	if err != nil {
		o.failPage(w, err)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if problem != "" {
		w.WriteHeader(http.StatusUnprocessableEntity)
	}
	w.Write(bidi.Page(page.Bytes()))
}

func (o *officeService) view(ctx context.Context, l *lending, seats string) (v pageView, err error) {
	key, err := readSecret(o.keyFile)
	if err != nil {
		return v, err
	}
	if key != "" {
		v.Key = "•••• " + key[max(len(key)-4, len(key)/2):]
	}
	v.Seats, _ = readSeats(seats)
	if refusal := o.refusal.Load(); refusal != nil {
		v.Problem = "The answer in " + o.answerFile + " was refused. " + sentence(*refusal)
	}
	_, v.Earlier = o.earlier(l)
	if v.Claims = l.claims; v.Claims != nil {
		v.Seats = cmp.Or(v.Seats, v.Claims.Office.Seats)
		v.Ended = !v.Claims.ExpiresAt.After(time.Now())
		v.Warning = l.notice(ctx)
		list, err := l.Service().ListActivations(ctx, api.ListActivationsParams{LicenseID: v.Claims.LicenseID, Limit: maxSeatsAsked})
		if err != nil {
			return v, err
		}
		v.Devices = list.Data
	}
	if v.Key != "" && v.Seats > 0 {
		if v.Request, err = o.request(ctx, v.Seats); err != nil {
			v.Problem = sentence(err)
			return v, nil
		}
		v.QR = qr.Draw(v.Request)
		request, err := licensefile.ParseOfficeRequest(v.Request)
		if err != nil {
			return v, err
		}
		v.Meters = request.Meters
	}
	return v, nil
}
