// Package kit has what all pages of the dashboard share: a visit, the frame of a page, lists
// and tables, notices, charts, and the words for events. It does not depend on any page.
package kit

// Pages are the names of the pages of this package.
var Pages = AddPages(TemplateFiles, nil)
