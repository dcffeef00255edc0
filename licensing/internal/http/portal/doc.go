/*
Package portal serves the pages on which customers help themselves with their
licenses, below the login of the host application.

The rules are those of [license.Customer]: for every page, the licenses of
anyone else do not exist. One file has the pages, one the forms, one the
activation of a program in the browser, and one writes a page, in the layout of the host
if it has one.
*/
package portal
