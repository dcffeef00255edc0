/*
Package dashboard is the pages that operators work in: an overview, licenses
with their seats, customers and products, the audit log, and the settings with
the credentials of API clients, webhooks and the operators themselves.

It is HTML over the rules of package license and the people of package auth,
and adds none of its own. Pages are html/template, styled by one small
stylesheet; a script of a few lines adds copy buttons and the like, and every
page does its work without it.

All links, form actions and redirects are relative references, so the pages
work under any mount and behind any proxy. State lives in the address: filters
and pages of a list are GET parameters. After a redirect, the page says once
what the POST has done: the notice is in the store, and the query names it by a
random mark. A secret is shown in the answer to the POST that made it, and
nowhere else.

Pages that set the session cookie are direct children of dashboard/, because
the cookie has no Path and the browser scopes it to the folder of the page.
*/
package dashboard
