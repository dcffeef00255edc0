package main

import (
	"net/http"

	"github.com/gin-gonic/gin"
	"github.com/go-chi/chi/v5"
	"github.com/labstack/echo/v5"
)

// mounts are the ways to put the service under /licensing.
var mounts = map[string]func(h http.Handler) http.Handler{
	"servemux": onServeMux,
	"chi":      onChi,
	"echo":     onEcho,
	"gin":      onGin,
}

func onServeMux(h http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/licensing/", http.StripPrefix("/licensing", h))
	return mux
}

func onChi(h http.Handler) http.Handler {
	router := chi.NewRouter()
	router.Handle("/licensing/*", http.StripPrefix("/licensing", h))
	return router
}

func onEcho(h http.Handler) http.Handler {
	e := echo.New()
	e.Any("/licensing/*", echo.WrapHandler(http.StripPrefix("/licensing", h)))
	return e
}

func onGin(h http.Handler) http.Handler {
	gin.SetMode(gin.ReleaseMode)
	engine := gin.New()
	engine.Any("/licensing/*path", gin.WrapH(http.StripPrefix("/licensing", h)))
	return engine
}
