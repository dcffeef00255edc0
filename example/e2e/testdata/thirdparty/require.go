package main

import (
	"net/http"

	"github.com/gin-gonic/gin"
	"github.com/labstack/echo/v5"
)

// reportsOnEcho serves a route to customers with a license; licensed is h.Require(…).
func reportsOnEcho(e *echo.Echo, licensed func(http.Handler) http.Handler, reports echo.HandlerFunc) {
	e.GET("/reports", reports, echo.WrapMiddleware(licensed))
}

// reportsOnGin does the same, with an adapter, which gin lacks.
func reportsOnGin(engine *gin.Engine, licensed func(http.Handler) http.Handler, reports gin.HandlerFunc) {
	engine.GET("/reports", func(c *gin.Context) {
		denied := true
		licensed(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			denied, c.Request = false, r // whose context has the license
		})).ServeHTTP(c.Writer, c.Request)
		if denied {
			c.Abort()
		}
	}, reports)
}
