package people

import (
	"errors"
	"net/http"
	"strconv"

	"github.com/seed-d8a106b4/licensekit/auth/operator"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/forms"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/kit"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/web"
)

func ShowOperators(v *kit.Visit) error {
	ctx := v.R.Context()
	list, err := v.Operators.List(ctx, operator.ListParams{Cursor: v.R.URL.Query().Get("after"), Limit: 50})
	if err != nil {
		return err
	}
	var body struct {
		Rows    []operator.Operator
		Invites []operator.Invitation
		kit.Pager
	}
	body.Rows, body.Pager = list.Data, v.Pager(nil, "after", list.NextCursor)
	if v.Admin() && body.First == "" {
		if body.Invites, err = v.Operators.Invitations(ctx); err != nil {
			return err
		}
	}
	return v.Render(http.StatusOK, "operators", kit.Page{Title: "Operators", Section: "operators", Body: body})
}

func roleField(chosen operator.Role) *forms.Field {
	return forms.Radios("role", "Role", chosen,
		forms.Option{Value: string(operator.RoleViewer), Label: "Viewer", Hint: "Can view everything except license keys. Can change nothing but their own account."},
		forms.Option{Value: string(operator.RoleSupport), Label: "Support", Hint: "Can also suspend, reinstate and renew licenses, remove devices and issue license files. Cannot see license keys or API clients."},
		forms.Option{Value: string(operator.RoleAdmin), Label: "Admin", Hint: "Can view and change everything, including operators."},
	)
}

func InviteForm(v *kit.Visit) (*forms.FormPage, error) {
	p := forms.NewFormPage("operators", kit.Lists["operators"], "Invite an operator",
		"This creates a link for you to share. Anyone who opens it within 72 hours can choose a password and sign in.")
	p.Action, p.Form = "Create invitation", forms.NewForm(
		&forms.Field{Name: "email", Label: "Email", Hint: "The operator signs in with it.", Type: "email", Autocomplete: "off", Required: true, MaxLength: 254},
		roleField(operator.RoleViewer),
	)
	code := ""
	p.Do = func(tx *kit.Visit) (_ string, err error) {
		code, err = tx.Operators.Invite(v.R.Context(), operator.InviteParams{Email: v.Sent("email"), Role: operator.Role(v.Sent("role"))})
		return "", err
	}
	p.Then = func(v *kit.Visit) error { return renderInvited(v, v.Sent("email"), code) }
	return p, nil
}

// renderInvited shows the code of an invitation. The code appears only in this
// response.
func renderInvited(v *kit.Visit, email, code string) error {
	return v.Render(http.StatusOK, "invited", kit.Page{Title: "Invitation for " + email, Section: "operators", Body: struct {
		Email, Code, Address string
	}{email, code, v.Address()}})
}

func RevokeInvitation(v *kit.Visit) error {
	if err := kit.UnlessGone(v.Operators.RevokeInvitation(v.R.Context(), v.Sent("id"))); err != nil {
		return err
	}
	return v.RedirectDone("settings/operators", "The invitation has been revoked.")
}

// operatorVersion returns what a change of an operator's role or access starts from.
func operatorVersion(op operator.Operator) string {
	return string(op.Role) + strconv.FormatBool(op.Disabled)
}

// OperatorForm is the page of an operator. Each of its buttons makes one change.
func OperatorForm(v *kit.Visit) (*forms.FormPage, error) {
	op, err := v.Operators.Get(v.R.Context(), v.R.PathValue("id"))
	if err != nil {
		return nil, err
	}
	a, err := operatorAccessOf(v, op.ID)
	p := &forms.FormPage{
		Title: op.Email, Section: "operators", Back: kit.OperatorPath(op.ID), Template: "operator", Form: forms.NewForm(roleField(op.Role)), Done: kit.NoticeSaved,
		Extra: struct {
			operator.Operator
			operatorAccess
			Self    bool
			Version string
		}{op, a, op.ID == v.Op.ID, operatorVersion(op)},
	}
	p.Do = func(v *kit.Visit) (string, error) {
		ctx := v.R.Context()
		params := operator.UpdateParams{ID: op.ID}
		if v.Sent("change") != "role" {
			p.Form = forms.NewForm(roleField(op.Role))
		}
		switch v.Sent("change") {
		case "role":
			params.Role = new(operator.Role(v.Sent("role")))
		case "disable", "enable":
			params.Disabled = new(v.Sent("change") == "disable")
		case "sign-out":
			p.Done = "All sessions of this operator have ended."
			return "", v.Operators.SignOutEverywhere(ctx, op.ID)
		case "end-session":
			p.Done = kit.NoticeSessionEnded
			return "", endSession(v, op.ID)
		case "remove-factor":
			_, err := v.Operators.RemoveSecondFactor(ctx, op.ID)
			return "", err
		case "password":
			code, err := v.Operators.CreatePasswordReset(ctx, op.ID)
			p.Then = func(v *kit.Visit) error { return renderInvited(v, op.Email, code) }
			return "", err
		default:
			return "", web.NewProblem(http.StatusUnprocessableEntity, "unknown_change", "Unknown action.")
		}
		if v.Sent("version") != operatorVersion(op) {
			return "", forms.ErrEdited
		}
		_, err := v.Operators.Update(ctx, params)
		if errors.Is(err, operator.ErrLastAdmin) {
			err = forms.ConflictError("This is the last admin who can sign in. Make another operator an admin first.")
		}
		return "", err
	}
	return p, err
}
