package dashboard

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"

	"github.com/seed-d8a106b4/licensekit/auth"
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
	body.Rows, body.pager = list.Data, newPager(nil, "after", v.r.URL.Query().Get("after"), list.NextCursor)
	if v.admin() && body.First == "" {
		if body.Invites, err = v.operators.Invitations(ctx); err != nil {
			return err
		}
	}
	return v.render(http.StatusOK, "operators", page{Title: "Operators", Section: "operators", Body: body})
}

func roleField(chosen operator.Role) *field {
	return &field{Name: "role", Label: "Role", Type: "radios", Options: []option{
		{Value: string(operator.RoleViewer), Label: "Viewer", Hint: "Can view everything except license keys. Can change nothing but their own account.", Chosen: chosen == operator.RoleViewer},
		{Value: string(operator.RoleSupport), Label: "Support", Hint: "Can also suspend, reinstate and renew licenses, release activations and issue license files. Cannot see license keys or API credentials.", Chosen: chosen == operator.RoleSupport},
		{Value: string(operator.RoleAdmin), Label: "Admin", Hint: "Can view and change everything, including operators.", Chosen: chosen == operator.RoleAdmin},
	}}
}

func inviteForm(v *visit) (*formPage, error) {
	p := &formPage{
		Title: "Invite an operator", Section: "operators", Back: "settings/operators", Subject: "Operators",
		Text: []string{"This creates a link for you to share. Anyone who opens it within 72 hours can choose a password and sign in."},
		Form: newForm(
			&field{Name: "email", Label: "Email", Hint: "The operator signs in with it.", Type: "email", Autocomplete: "off", Required: true, MaxLength: 254},
			roleField(operator.RoleViewer),
		),
		Action: "Create invitation",
	}
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
		Email, Code string
		Link        command
	}{email, code, v.command("Link", "", "/dashboard/join#code="+code)}})
}

func revokeInvitation(v *visit) error {
	if err := v.operators.RevokeInvitation(v.r.Context(), v.sent("id")); err != nil && !errors.Is(err, auth.ErrNotFound) {
		return err
	}
	v.redirectDone("settings/operators", "The invitation has been revoked.")
	return nil
}

func (v *visit) operator() (operator.Operator, error) {
	return v.operators.Get(v.r.Context(), v.r.PathValue("id"))
}

func operatorPath(id string) string { return "settings/operators/" + url.PathEscape(id) }

func showOperator(v *visit) error {
	op, err := v.operator()
	if err != nil {
		return err
	}
	return v.renderOperator(http.StatusOK, op, newForm(roleField(op.Role)))
}

func (v *visit) renderOperator(status int, op operator.Operator, f *form) error {
	a, err := v.operatorAccess(op.ID)
	if err != nil {
		return err
	}
	return v.render(status, "operator", page{Title: op.Email, Section: "operators", Body: struct {
		operator.Operator
		operatorAccess
		Form    *form
		Self    bool
		Version string
	}{op, a, f, op.ID == v.op.ID, operatorVersion(op)}})
}

// operatorVersion returns what a change of an operator's role or access starts from.
func operatorVersion(op operator.Operator) string {
	return string(op.Role) + strconv.FormatBool(op.Disabled)
}

// changeOperator performs one of the actions on the page of an operator.
func changeOperator(v *visit) error {
	op, err := v.operator()
	if err != nil {
		return err
	}
	p := operator.UpdateParams{ID: op.ID}
	yes, no := true, false
	switch v.sent("change") {
	case "role":
		role := operator.Role(v.sent("role"))
		p.Role = &role
	case "disable":
		p.Disabled = &yes
	case "enable":
		p.Disabled = &no
	case "sign-out":
		if err := v.operators.SignOutEverywhere(v.r.Context(), op.ID); err != nil {
			return err
		}
		v.redirectDone(operatorPath(op.ID), "All sessions of this operator have ended.")
		return nil
	case "end-session":
		if err := v.endSession(op.ID); err != nil {
			return err
		}
		v.redirectDone(operatorPath(op.ID), noticeSessionEnded)
		return nil
	case "remove-factor":
		if _, err := v.operators.RemoveSecondFactor(v.r.Context(), op.ID); err != nil {
			return err
		}
		v.redirectDone(operatorPath(op.ID), noticeSaved)
		return nil
	case "password":
		code, err := v.operators.CreatePasswordReset(v.r.Context(), op.ID)
		if err != nil {
			return err
		}
		return v.renderInvited(op.Email, code)
	default:
		return web.NewProblem(http.StatusUnprocessableEntity, "unknown_change", "Unknown action.")
	}
	f := newForm(roleField(op.Role))
	if v.sent("version") != operatorVersion(op) {
		f.Problem = string(errEdited)
		return v.renderOperator(http.StatusConflict, op, f)
	}
	_, err = v.operators.Update(v.r.Context(), p)
	switch {
	case errors.Is(err, operator.ErrLastAdmin):
		f.Problem = "This is the last admin who can sign in. Make another operator an admin first."
		return v.renderOperator(http.StatusConflict, op, f)
	case f.takeErrors(err):
		return v.renderOperator(http.StatusUnprocessableEntity, op, f)
	case err != nil:
		return err
	}
	v.redirectDone(operatorPath(op.ID), noticeSaved)
	return nil
}
