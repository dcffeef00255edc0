/*
Package dashboard serves the pages for operators: an overview, licenses with
their activations, customers and products, the audit log, and settings for API
credentials, webhooks and operators.

The pages use the services of packages license and auth and add no rules of
their own. They are html/template with one stylesheet. A list, a record and a table
of records have one template each, in templates/shared/list.html; their pages
define what differs. A small script adds conveniences such as copy buttons;
every page works without it.

All links, form actions and redirects are relative references, so that the
pages work under any mount and behind any proxy. The filters and the page of a
list are GET parameters. After a form is submitted, a redirect shows the result
as a notice, once. A new secret appears only in the response to the POST that
created it.

Pages that set the session cookie are direct children of dashboard/, because
the cookie has no Path and browsers limit it to the folder of the page.
*/
package dashboard
