package dashboard

import (
	"os"
	"path/filepath"

	"github.com/chromedp/chromedp"
	"github.com/matryer/is"
)

// picture writes the present page, light and dark, for the gallery of the guides to the
// folder that E2E_PICTURES names. part, if any, is the ID of the element at which it begins.
// The gallery in licensing/docs/pictures is made with Debian's fonts-inter, by TestPicture,
// TestCustomerPages and TestOffice, and each file is made smaller by pngquant --strip 48.
func (b *browser) picture(name string, width, height int64, part string) {
	b.t.Helper()
	dir := os.Getenv("E2E_PICTURES")
	if dir == "" {
		return
	}
	is := is.New(b.t)
	is.NoErr(os.MkdirAll(dir, 0o755))
	is.NoErr(chromedp.Do(b.ctx, chromedp.EmulateViewport(width, height)))
	for _, scheme := range []string{"dark", "light"} {
		b.scheme(scheme)
		if part != "" {
			eval[bool](b, `scrollTo(0, document.getElementById("`+part+`").getBoundingClientRect().top + scrollY - 80), true`)
		}
		picture, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
		is.NoErr(err)
		is.NoErr(os.WriteFile(filepath.Join(dir, name+"-"+scheme+".png"), picture, 0o644))
	}
}
