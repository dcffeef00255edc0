// Package input decodes JSON objects and query strings into parameter structs.
// Lines of an import are decoded as strictly as request bodies.
//
// The tags of a parameter struct define its wire format. A field with a json tag
// is a member of that name; a field without one, or with "-", is not on the
// wire. The tag wire refines a member:
//
//   - required: the member must be present
//   - filled: a string must not be empty, and a number not 0; the client omits the
//     member instead
//   - nullable: null is allowed and means the zero value
//   - max=N: an object must have at most N members; of a list or a string, the validate tag
//     says it
//   - each=N: each string in an object must have at most N characters
//   - credential: a license key, by which the caller is known
//   - flag: a parameter of queries that is true, false, or present without a value, which
//     is true
//   - any: a flag that is true with any value but false
//   - names: the field is not on the wire and receives the names of the members that
//     are present
//
// Each member of the wrong form is a [api.FieldError]. Decoding reports all errors of
// a struct together. The rules check the values themselves; with [Merge] what they
// find is reported together with the errors of decoding.
package input
