package web

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"log/slog"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/auth/operator"
	"github.com/seed-d8a106b4/licensekit/internal/signin"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
	"github.com/seed-d8a106b4/licensekit/store"
)

// sentinels are the errors of the packages below, and the status of each. A
// store's ErrNotFound, ErrExists and ErrTxDone never come as far as here but
// through a fault of ours.
var sentinels = map[string]struct {
	err    error
	status int
}{
	"api.ErrNotFound":          {api.ErrNotFound, 404},
	"api.ErrInvalid":           {&api.InvalidError{}, 422},
	"api.ErrStale":             {&api.StaleError{Current: api.Version{Revision: 2, Status: api.LicenseActive}}, 412},
	"api.ErrAmbiguous":         {&api.AmbiguousError{IDs: []string{"lic_1"}}, 409},
	"api.ErrProductForbidden":  {api.ErrProductForbidden, 403},
	"api.ErrKeyTaken":          {api.ErrKeyTaken, 409},
	"api.ErrOnceMismatch":      {api.ErrOnceMismatch, 422},
	"api.ErrStateForbids":      {&api.StateError{Change: "renew", From: api.LicenseRevoked, To: api.LicenseRevoked}, 409},
	"api.ErrDenied":            {&api.DeniedError{Verdict: api.Verdict{Code: api.VerdictSuspended}}, 409},
	"api.ErrActivationLimit":   {&api.DeniedError{Verdict: api.Verdict{Code: api.VerdictActivationLimit}}, 409},
	"api.ErrUsageLimit":        {&api.DeniedError{Verdict: api.Verdict{Code: api.VerdictUsageLimit}}, 409},
	"api.ErrCursorGone":        {api.ErrCursorGone, 410},
	"api.ErrSeatHeld":          {&api.SeatHeldError{OfflineUntil: time.Now()}, 409},
	"api.ErrNoFile":            {&api.NoFileError{Reason: api.Reason{Code: api.VerdictFileTooLarge, Detail: "No files."}}, 409},
	"api.ErrReferenceTaken":    {api.ErrReferenceTaken, 409},
	"api.ErrLinkGone":          {api.ErrLinkGone, 410},
	"api.ErrClaimed":           {api.ErrClaimed, 409},
	"api.ErrTrialTaken":        {api.ErrTrialTaken, 409},
	"api.ErrForbidden":         {api.ErrForbidden, 403},
	"licensefile.ErrTooLarge":  {licensefile.ErrTooLarge, 409},
	"auth.ErrTooManySecrets":   {auth.ErrTooManySecrets, 409},
	"operator.ErrLastAdmin":    {operator.ErrLastAdmin, 409},
	"operator.ErrAlreadySetUp": {operator.ErrAlreadySetUp, 409},
	"signin.ErrSetupCode":      {signin.ErrSetupCode, 422},
	"signin.ErrInvitationCode": {signin.ErrInvitationCode, 422},
	"signin.ErrCredentials":    {signin.ErrCredentials, 422},
	"signin.ErrSecondFactor":   {signin.ErrSecondFactor, 422},
	"signin.ErrCode":           {signin.ErrCode, 422},
	"signin.ErrNoSession":      {signin.ErrNoSession, 403},
	"operator.ErrThrottled":    {&operator.ThrottledError{RetryAfter: time.Minute}, 429},
	"store.ErrConflict":        {store.ErrConflict, 503},
	"store.ErrUnavailable":     {store.ErrUnavailable, 503},
	"store.ErrFull":            {store.ErrFull, 503},
	"store.ErrDamaged":         {store.ErrDamaged, 503},
	"store.ErrUnknownOutcome":  {store.ErrUnknownOutcome, 503},
	"store.ErrNotFound":        {store.ErrNotFound, 500},
	"store.ErrExists":          {store.ErrExists, 500},
	"store.ErrTxDone":          {store.ErrTxDone, 500},
}

func TestEveryErrorOfThePackagesBelowHasAnAnswer(t *testing.T) {
	for name, c := range sentinels {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			p := ProblemOf(fmt.Errorf("doing something: %w", c.err))
			is.Equal(p.Status, c.status)
			is.True(p.Code != "")
			require.HasSuffix(t, p.Detail, ".")
		})
	}
	for pkg, dir := range map[string]string{"api": "../../../api", "auth": "../../../../auth", "operator": "../../../../auth/operator", "store": "../../../../store"} {
		for _, name := range exportedErrors(t, dir) {
			if _, listed := sentinels[pkg+"."+name]; !listed {
				t.Errorf("%s.%s has no answer", pkg, name)
			}
		}
	}
}

// exportedErrors returns the names of the exported errors of a package.
func exportedErrors(t *testing.T, dir string) (names []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no files in %s: %v", dir, err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range f.Decls {
			vars, ok := decl.(*ast.GenDecl)
			if !ok || vars.Tok != token.VAR {
				continue
			}
			for _, spec := range vars.Specs {
				for _, name := range spec.(*ast.ValueSpec).Names {
					if strings.HasPrefix(name.Name, "Err") {
						names = append(names, name.Name)
					}
				}
			}
		}
	}
	return names
}

// TestWriteError: a response lists the first errors of a large invalid body, and the
// log has failures of the service, but not those of a request that was canceled.
func TestWriteError(t *testing.T) {
	is := is.New(t)
	var log bytes.Buffer
	write := func(ctx context.Context, err error) (p api.Problem) {
		w := httptest.NewRecorder()
		WriteError(slog.New(slog.NewTextHandler(&log, nil)), w, httptest.NewRequestWithContext(ctx, "GET", "/", nil), err)
		is.NoErr(json.Unmarshal(w.Body.Bytes(), &p))
		return p
	}
	is.Equal(len(write(t.Context(), &api.InvalidError{Fields: make([]api.FieldError, maxErrors+10)}).Errors), maxErrors)
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	is.Equal(write(canceled, context.Canceled).Status, 503)
	is.Equal(log.String(), "")
	is.Equal(write(t.Context(), store.ErrUnavailable).Status, 503)
	require.Contains(t, log.String(), "request failed")
}

func TestAnswersCarryWhatOnlyTheErrorKnows(t *testing.T) {
	is := is.New(t)
	is.Equal(ProblemOf(sentinels["api.ErrStale"].err).Header.Get("ETag"), `"2.active"`)
	is.Equal(ProblemOf(sentinels["api.ErrAmbiguous"].err).IDs, []string{"lic_1"})
	move := ProblemOf(sentinels["api.ErrStateForbids"].err)
	is.Equal([]string{move.From, move.To}, []string{"revoked", "revoked"})
	is.Equal(move.Detail, "Cannot renew a license that is revoked.")
	full := ProblemOf(sentinels["api.ErrActivationLimit"].err)
	is.Equal(full.Code, api.VerdictActivationLimit)
	is.Equal(full.Verdict.Code, api.VerdictActivationLimit)
	unknown := ProblemOf(&api.DeniedError{Verdict: api.Verdict{Code: api.VerdictNotFound}})
	is.Equal(unknown.Status, 404)
	is.Equal(unknown.Verdict, nil) // as for everything that is not there
	is.True(ProblemOf(sentinels["operator.ErrThrottled"].err).Header.Get("Retry-After") != "")
	is.True(ProblemOf(store.ErrConflict).Header.Get("Retry-After") != "")
}
