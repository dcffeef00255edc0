// Package inner lets a public type of this module have methods that the other
// packages of the module can call and programs cannot: a program cannot import
// this package, and without [Of] there is no way to them.
//
// The package of the type declares
//
//	type Service struct {
//		inside // …
//	}
//
//	type inside = inner.Methods[internals] // an alias, for an unexported field
//
//	// internals are the methods of a Service for the other packages.
//	type internals struct{ *Service }
//
//	func (internals) Of(s *Service) internals { return internals{s} }
//
// and the other packages call inner.Of(service).Method(…).
package inner

// Methods, embedded in a type, say that its inner methods are those of I. They
// take no space.
type Methods[I any] struct{}

// inner is promoted to the type that embeds m, where only this package can call
// it.
func (Methods[I]) inner() (methods I) { return methods }

// Of returns the inner methods of the value that p points to.
func Of[P interface{ inner() I }, I interface{ Of(P) I }](p P) I { return p.inner().Of(p) }
