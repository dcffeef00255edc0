/*
Package api has the wire types of the API: the resources, the parameters of each
endpoint, problems and codes. The service and its clients share them, and the Go
API of packages license and webhook takes them too. Package client sends them;
a program in Go without that package can decode an answer into them:

	var l api.License
	if err := json.NewDecoder(resp.Body).Decode(&l); err != nil {
		return err
	}
	fmt.Println(l.ID, l.Status)

The tags of a parameter say where its value goes in a request:

  - path: into the path, in place of the name in braces
  - header: into a header
  - query: into the query. With json too: of a GET or a DELETE
  - json: into the body, as a member of its object

A zero value is not sent. A field without a place in a request is for Go code of
the service. The tag validate has the rules that the service checks.
*/
package api
