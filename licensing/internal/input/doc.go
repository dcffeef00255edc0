// Package input turns JSON objects and queries into parameter structs, as
// strictly for a line of an import as for the body of a request.
//
// A parameter struct describes its own wire form. A field with a json tag is a
// member of that name; a field without one, or with "-", is not on the wire.
// The tag wire refines a member:
//
//   - required: the member must be present
//   - filled: a string must not be empty; leave the member out instead
//   - nullable: null is allowed and means the zero value
//   - body: a member of bodies only, never a parameter of a query
//   - "-": not on the wire; the json tag only names the field in errors
//
// What does not have the form that a field needs is a [FieldError]. All errors
// of one struct are found together; none stops the others from being reported.
// Whether the values make sense is for the rules to say.
package input
