package kit

// A Route is one page or one form action.
type Route struct {
	Method   string
	Path     string // below dashboard/; a segment in braces is a parameter
	Query    string // the parameters of the query, in addition to done; one with a star may be repeated
	Access   Access
	Handle   func(*Visit) error
	Form     pageForm // instead of method and handle: a page with a form, for GET and POST
	SignIn   bool     // part of the built-in sign-in
	Account  bool     // for an operator without a second factor, too
	Download bool     // may take longer than other pages
	Upload   bool     // the form is multipart/form-data and may be larger
}

// A pageForm serves a page with a form: it shows the page for GET and makes the change for POST.
type pageForm interface {
	Show(*Visit) error
	Submit(*Visit) error
}
