package dashboard

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"

	"github.com/seed-d8a106b4/licensekit/auth/operator"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/web"
)

func showOperators(v *visit) error {
	ctx := v.r.Context()
	list, err := v.operators.List(ctx, operator.ListParams{Cursor: v.r.URL.Query().Get("after"), Limit: 50})
	if err != nil {
		return err
	}
	var body struct {
		Rows    []operator.Operator
		Invites []operator.Invitation
		pager
	}
	body.Rows, body.pager = list.Data, v.pager(nil, "after", list.NextCursor)
	if v.admin() && body.First == "" {
		if body.Invites, err = v.operators.Invitations(ctx); err != nil {
			return err
		}
	}
	return v.render(http.StatusOK, "operators", page{Title: "Operators", Section: "operators", Body: body})
}

func roleField(chosen operator.Role) *field {
	return radios("role", "Role", chosen,
		option{Value: string(operator.RoleViewer), Label: "Viewer", Hint: "Can view everything except license keys. Can change nothing but their own account."},
		option{Value: string(operator.RoleSupport), Label: "Support", Hint: "Can also suspend, reinstate and renew licenses, release activations and issue license files. Cannot see license keys or API credentials."},
		option{Value: string(operator.RoleAdmin), Label: "Admin", Hint: "Can view and change everything, including operators."},
	)
}

func inviteForm(v *visit) (*formPage, error) {
	p := newFormPage("operators", lists["operators"], "Invite an operator",
		"This creates a link for you to share. Anyone who opens it within 72 hours can choose a password and sign in.")
	p.Action, p.Form = "Create invitation", newForm(
		&field{Name: "email", Label: "Email", Hint: "The operator signs in with it.", Type: "email", Autocomplete: "off", Required: true, MaxLength: 254},
		roleField(operator.RoleViewer),
	)
	code := ""
	p.do = func(tx *visit) (_ string, err error) {
		code, err = tx.operators.Invite(v.r.Context(), operator.InviteParams{Email: v.sent("email"), Role: operator.Role(v.sent("role"))})
		return "", err
	}
	p.then = func(v *visit) error { return v.renderInvited(v.sent("email"), code) }
	return p, nil
}

// renderInvited shows the code of an invitation. The code appears only in this
// response.
func (v *visit) renderInvited(email, code string) error {
	return v.render(http.StatusOK, "invited", page{Title: "Invitation for " + email, Section: "operators", Body: struct {
		Email, Code, Address string
	}{email, code, v.address()}})
}

func revokeInvitation(v *visit) error {
	if err := unlessGone(v.operators.RevokeInvitation(v.r.Context(), v.sent("id"))); err != nil {
		return err
	}
	return v.redirectDone("settings/operators", "The invitation has been revoked.")
}

func operatorPath(id string) string { return "settings/operators/" + url.PathEscape(id) }

// operatorVersion returns what a change of an operator's role or access starts from.
func operatorVersion(op operator.Operator) string {
	return string(op.Role) + strconv.FormatBool(op.Disabled)
}

// operatorForm is the page of an operator. Each of its buttons makes one change.
func operatorForm(v *visit) (*formPage, error) {
	op, err := v.operators.Get(v.r.Context(), v.r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	a, err := v.operatorAccess(op.ID)
	p := &formPage{
		Title: op.Email, Section: "operators", Back: operatorPath(op.ID), template: "operator", Form: newForm(roleField(op.Role)), done: noticeSaved,
		Extra: struct {
			operator.Operator
			operatorAccess
			Self    bool
			Version string
		}{op, a, op.ID == v.op.ID, operatorVersion(op)},
	}
	p.do = func(v *visit) (string, error) {
		ctx := v.r.Context()
		params := operator.UpdateParams{ID: op.ID}
		if v.sent("change") != "role" {
			p.Form = newForm(roleField(op.Role))
		}
		switch v.sent("change") {
		case "role":
			params.Role = new(operator.Role(v.sent("role")))
		case "disable", "enable":
			params.Disabled = new(v.sent("change") == "disable")
		case "sign-out":
			p.done = "All sessions of this operator have ended."
			return "", v.operators.SignOutEverywhere(ctx, op.ID)
		case "end-session":
			p.done = noticeSessionEnded
			return "", v.endSession(op.ID)
		case "remove-factor":
			_, err := v.operators.RemoveSecondFactor(ctx, op.ID)
			return "", err
		case "password":
			code, err := v.operators.CreatePasswordReset(ctx, op.ID)
			p.then = func(v *visit) error { return v.renderInvited(op.Email, code) }
			return "", err
		default:
			return "", web.NewProblem(http.StatusUnprocessableEntity, "unknown_change", "Unknown action.")
		}
		if v.sent("version") != operatorVersion(op) {
			return "", errEdited
		}
		_, err := v.operators.Update(ctx, params)
		if errors.Is(err, operator.ErrLastAdmin) {
			err = conflictError("This is the last admin who can sign in. Make another operator an admin first.")
		}
		return "", err
	}
	return p, err
}
