package e2e

import (
	"bytes"
	"image/color"
	"image/png"
	"net/http"
	"regexp"
	"testing"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
)

// TestTestKeyFromTheDashboard creates a test key as a member does, calls with it, and finds the call, which is free.
func TestTestKeyFromTheDashboard(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	app, browser := startPages(t), openBrowser(t)
	maya := openScreen(t, browser, app)
	maya.join("maya@example.com")
	maya.open("/dashboard/keys/new")
	maya.fill("name", "tests of the shop")
	maya.switches("input[name=test]", true)
	maya.lookAt("test-key-form")
	maya.press("Create key")
	maya.sees("Key “tests of the shop” created")
	maya.sees("test · no limit · all operations")
	page, err := maya.page.HTML()
	if err != nil {
		t.Fatal(err)
	}
	secret := regexp.MustCompile(`pdf_test_[0-9A-Za-z]{40}`).FindString(page)
	send := func(path, body string, want int) []byte {
		t.Helper()
		return mustSend(t, http.MethodPost, app.URL+path, secret, body, want)
	}
	image, err := png.Decode(bytes.NewReader(send("/v1/images", `{"html":"<body style='background:#0a0'>"}`, http.StatusOK)))
	if err != nil {
		t.Fatal(err)
	}
	corner := image.Bounds().Max
	if got := color.GrayModel.Convert(image.At(corner.X-3, corner.Y-3)); got != (color.Gray{Y: 0x33}) {
		t.Errorf("the corner of the image is %v, want the test mark", got)
	}
	send("/v1/pdf", `{"html":"<h1>Order</h1>","filename":"order-1042","response":"url"}`, http.StatusOK)
	send("/v1/zip", `{"files":[{"file":"YQ==","filename":"a.txt"}]}`, http.StatusBadRequest)
	if account := maya.account(); account.Balance != app.Config.Trial || account.SpentToday != 0 {
		t.Errorf("the account is %+v, want its trial credit of %v", account, app.Config.Trial)
	}
	maya.finds("/dashboard/documents", "order-1042")
	maya.open("/dashboard/keys")
	maya.lookAt("test-keys")
	maya.calm("the pages of a test key")
}
