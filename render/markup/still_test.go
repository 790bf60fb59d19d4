package markup

import "testing"

func TestStill(t *testing.T) {
	got := RemoveRequests(`<!doctype html><html><head><meta http-equiv=refresh content="0;url=//x"><link rel=dns-prefetch href=//x><base href=//x><title>t</title>` +
		`<style>p{color:red}</style><script src=//x></script><script>go("<p>")</script></head><body><p style="a:b">x &amp; y</p><iframe src=//x><link rel=preconnect href=//x></iframe></body></html>`)
	want := `<!doctype html><html><head><title>t</title><style>p{color:red}</style></head><body><p style="a:b">x &amp; y</p></body></html>`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
