package dashboard

import (
	"errors"
	"net/http"
	"net/url"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/auth/operator"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/web"
)

// operatorRow is an operator as pages show them.
type operatorRow struct {
	operator.Operator
	Created, LastSignIn *moment
}

func (v *visit) operatorRow(op operator.Operator) operatorRow {
	return operatorRow{op, v.moment(op.CreatedAt), v.moment(op.LastSignInAt)}
}

// inviteRow is an invitation as pages show it.
type inviteRow struct {
	operator.Invitation
	Expires *moment
}

func showOperators(v *visit) error {
	ctx := v.r.Context()
	const shown = 50
	list, err := v.operators.List(ctx, operator.ListParams{After: v.r.URL.Query().Get("after"), Limit: shown + 1})
	if err != nil {
		return err
	}
	var body struct {
		Rows    []operatorRow
		Invites []inviteRow
		Next    string
		First   bool
	}
	body.First = v.r.URL.Query().Get("after") == ""
	if len(list) > shown {
		list = list[:shown]
		body.Next = "?" + url.Values{"after": {list[shown-1].ID}}.Encode()
	}
	for _, op := range list {
		body.Rows = append(body.Rows, v.operatorRow(op))
	}
	if v.admin() && body.First {
		invites, err := v.operators.Invitations(ctx)
		if err != nil {
			return err
		}
		for _, i := range invites {
			body.Invites = append(body.Invites, inviteRow{i, v.moment(i.ExpiresAt)})
		}
	}
	return v.render(http.StatusOK, "operators", page{Title: "Operators", Section: "operators", Body: body})
}

func roleField(chosen operator.Role) *field {
	return &field{Name: "role", Label: "Role", Type: "radios", Options: []option{
		{Value: string(operator.RoleViewer), Label: "Viewer", Hint: "Sees everything, and changes nothing but their own password.", Chosen: chosen == operator.RoleViewer},
		{Value: string(operator.RoleAdmin), Label: "Admin", Hint: "Sees and changes everything, these pages included.", Chosen: chosen == operator.RoleAdmin},
	}}
}

func inviteForm() *form {
	return &form{Groups: []group{{Fields: []*field{
		{Name: "email", Label: "E-mail", Hint: "What they will sign in with.", Type: "email", Autocomplete: "off", Required: true, MaxLength: 254},
		roleField(operator.RoleViewer),
	}}}}
}

func showInvite(v *visit) error { return v.renderInvite(http.StatusOK, inviteForm()) }

func (v *visit) renderInvite(status int, f *form) error {
	return v.render(status, "confirm", page{Title: "Invite an operator", Section: "operators", Body: confirmation{
		Heading: "Invite an operator", Form: f, Action: "Make an invitation", Back: "settings/operators", Subject: "Operators",
		Text: []string{"You get a link to hand over. Whoever opens it within 72 hours chooses a password and can sign in."},
	}})
}

func invite(v *visit) error {
	f := inviteForm()
	f.fill(v)
	code, err := v.operators.Invite(v.r.Context(), operator.InviteParams{Email: v.sent("email"), Role: operator.Role(v.sent("role"))})
	if f.take(err) {
		return v.renderInvite(http.StatusUnprocessableEntity, f)
	}
	if err != nil {
		return err
	}
	return v.renderInvited(v.sent("email"), code)
}

// renderInvited shows the code of an invitation. This answer is the only place
// it is ever in.
func (v *visit) renderInvited(email, code string) error {
	return v.render(http.StatusOK, "invited", page{Title: "Invitation for " + email, Section: "operators", Body: struct {
		Email, Code string
		Link        command
	}{email, code, v.command("Link", "", "/dashboard/join#code="+code)}})
}

func withdraw(v *visit) error {
	if err := v.operators.RevokeInvitation(v.r.Context(), v.sent("id")); err != nil && !errors.Is(err, auth.ErrNotFound) {
		return err
	}
	v.redirectDone("settings/operators", "withdrawn")
	return nil
}

func (v *visit) operator() (operator.Operator, error) {
	return v.operators.Get(v.r.Context(), v.params["id"])
}

func operatorPath(id string) string { return "settings/operators/" + url.PathEscape(id) }

func showOperator(v *visit) error {
	op, err := v.operator()
	if err != nil {
		return err
	}
	return v.renderOperator(http.StatusOK, op, &form{Groups: []group{{Fields: []*field{roleField(op.Role)}}}})
}

func (v *visit) renderOperator(status int, op operator.Operator, f *form) error {
	return v.render(status, "operator", page{Title: op.Email, Section: "operators", Body: struct {
		operatorRow
		Form *form
		Self bool
	}{v.operatorRow(op), f, op.ID == v.op.ID}})
}

// changeOperator does one of the things that the page of an operator offers.
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
		v.redirectDone(operatorPath(op.ID), "signed-out")
		return nil
	case "password":
		code, err := v.operators.CreatePasswordReset(v.r.Context(), op.ID)
		if err != nil {
			return err
		}
		return v.renderInvited(op.Email, code)
	default:
		return &web.Problem{Status: http.StatusUnprocessableEntity, Code: "unknown_change", Detail: "This page does not do that."}
	}
	f := &form{Groups: []group{{Fields: []*field{roleField(op.Role)}}}}
	_, err = v.operators.Update(v.r.Context(), p)
	switch {
	case errors.Is(err, operator.ErrLastAdmin):
		f.Problem = "This is the last admin who can sign in. Make somebody else one first."
		return v.renderOperator(http.StatusConflict, op, f)
	case f.take(err):
		return v.renderOperator(http.StatusUnprocessableEntity, op, f)
	case err != nil:
		return err
	}
	v.redirectDone(operatorPath(op.ID), "updated")
	return nil
}

func joinForm() *form {
	return &form{Groups: []group{{Fields: []*field{
		{Name: "code", Label: "Code of the invitation", Type: "text", Autocomplete: "one-time-code", Required: true, Mono: true},
		newPassword("password", "Password"),
	}}}}
}

func showJoin(v *visit) error { return v.renderJoin(http.StatusOK, joinForm()) }

func (v *visit) renderJoin(status int, f *form) error {
	return v.render(status, "join", page{Title: "Join", Gate: true, Body: gate{Form: f, Plain: v.plain()}})
}

// join takes an invitation up.
func join(v *visit) error {
	f := joinForm()
	f.fill(v)
	status := http.StatusUnprocessableEntity
	_, err := v.operators.AcceptInvitation(v.w, v.r, v.sent("code"), v.r.PostForm.Get("password"))
	switch {
	case err == nil:
		v.redirect("")
		return nil
	case errors.Is(err, operator.ErrInvitationCode):
		f.wrong("code", "This code is wrong, was used before or has ended. Ask for a new one.")
	case f.take(err):
	default:
		if status, err = v.refuse(f, err, ""); err != nil {
			return err
		}
	}
	f.Field("password").Value = ""
	return v.renderJoin(status, f)
}
