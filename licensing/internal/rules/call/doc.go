// Package call is the call that the rules serve: its store, clock and caller, the Update
// that it is part of, and what every rule needs whatever it is about: errors that leave
// nothing behind, checks of parameters, events, cursors, masked keys, the replies of
// Once, and how texts are compared.
//
// Every room has a type Service that embeds a Call. What outlives a call, such as counts
// that are kept, is a field of that type, which package license sets. Here lives nothing
// that knows what a license may do.
package call
