package chrome

import (
	"bytes"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"
)

const (
	redPNG = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAoAAAAKCAIAAAACUFjqAAAAEklEQVR4nGP8z4APMOGVHbHSAEEsAROxCnMTAAAAAElFTkSuQmCC"
	redSVG = "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' width='20' height='20'%3E%3Ccircle cx='10' cy='10' r='9' fill='red'/%3E%3C/svg%3E"
)

// TestStillPagesPrintTheSame prints documents on a page without frames and on
// one with them: not a byte may differ.
func TestStillPagesPrintTheSame(t *testing.T) {
	p := startPool(t, nil)
	box := func(css string) string { return `<style>div{width:80px;height:80px;` + css + `}</style><div>box</div>` }
	documents := map[string]string{
		"image":             `<img src="` + redPNG + `" width=50>after`,
		"vector image":      `<img src="` + redSVG + `" width=50>after`,
		"background":        box(`background:url("` + redPNG + `")`),
		"vector background": box(`background:url("` + redSVG + `")`),
		"border image":      box(`border:9px solid;border-image:url("` + redPNG + `") 3`),
		"mask":              box(`background:blue;mask:url("` + redSVG + `")`),
		"list image":        `<ul style="list-style-image:url('` + redPNG + `')"><li>one<li>two</ul>`,
		"content":           `<style>p::before{content:url("` + redPNG + `")}</style><p>text`,
		"print background":  `<style>@media print{body{background:url("` + redPNG + `")}}</style>text`,
		"picture":           `<picture><source media=print srcset="` + redPNG + `"><img src="` + redSVG + `"></picture>`,
		"inline vector":     `<svg width=99 height=99><defs><linearGradient id=g><stop stop-color=red /><stop offset=1 stop-color=blue /></linearGradient></defs><rect width=99 height=99 fill="url(#g)"/></svg>`,
		"filters":           box(`background:red;filter:blur(3px) drop-shadow(4px 4px blue);opacity:.5`),
		"content-visibility": `<style>p{content-visibility:auto;contain-intrinsic-size:500px}</style>` +
			strings.Repeat("<p>paragraph", 300),
		"fixed and sticky": `<b style="position:fixed;bottom:0">foot</b><b style="position:sticky;top:0">head</b>` + strings.Repeat("<p>line", 200),
		"canvas":           `<canvas id=c></canvas><script>c.getContext('2d').fillRect(10,10,50,50)</script>`,
		"script":           `<p id=x></p><script>x.textContent=document.body.getBoundingClientRect().width; onload=()=>x.style.color='red'</script>`,
		"invoice":          invoice(),
	}
	for name, html := range documents {
		job := Job{Account: "a", HTML: html}
		if strings.Contains(html, "<script") {
			job.RenderMode = ModeRealm
		}
		paused := job
		paused.WaitForTimeout = 100 * time.Millisecond // Time may pass only where it shows.
		image := []byte("/Subtype /Image")
		var still, moving []byte
		// Images for print only are loaded when it prints: in time, unless the machine
		// stalls.
		for end := time.Now().Add(patience); time.Now().Before(end); {
			still, moving = printed(t, p, job), printed(t, p, paused)
			if !strings.Contains(html, redPNG) || bytes.Contains(still, image) && bytes.Contains(moving, image) {
				break
			}
		}
		if !bytes.Equal(still, moving) {
			t.Errorf("%s: %d bytes without frames, %d other bytes with them", name, len(still), len(moving))
		}
		if strings.Contains(html, redPNG) && !bytes.Contains(still, image) {
			t.Errorf("%s: the image is missing", name)
		}
	}
}

// dates are the parts of a PDF that differ at every print.
var dates = regexp.MustCompile(`D:\d{14}`)

func printed(t *testing.T, p *Pool, job Job) []byte {
	t.Helper()
	doc, err := p.PDF(t.Context(), job, PDF{PrintBackground: true})
	if err != nil {
		t.Fatal(err)
	}
	defer doc.Body.Close()
	data, err := io.ReadAll(doc.Body.Open())
	if err != nil {
		t.Fatal(err)
	}
	return dates.ReplaceAll(data, nil)
}

func TestStillPagesAreForJobsWithoutFrames(t *testing.T) {
	prints, photographs := task{step: StepPrint, lazy: true}, task{step: StepCapture, images: true}
	tests := []struct {
		name string
		job  Job
		task task
		want bool
	}{
		{"text", Job{HTML: "<p>text"}, prints, true},
		{"image of text", Job{HTML: "<p>text"}, photographs, false},
		{"script", Job{HTML: "<script>x.textContent = 1</script>", RenderMode: ModeRealm}, prints, true},
		{"script that draws later", Job{HTML: "<script>requestAnimationFrame(f)</script>", RenderMode: ModeRealm}, prints, false},
		{"web font", Job{HTML: "<style>@FONT-FACE{}</style>"}, prints, false},
		{"lazy image", Job{HTML: "<img loading=LAZY>"}, prints, false},
		{"animation", Job{HTML: "<style>p{Animation:x 1s}</style>"}, prints, false},
		{"pause", Job{HTML: "<p>text", WaitForTimeout: time.Millisecond}, prints, false},
		{"network", Job{HTML: "<p>text", RenderMode: ModeOnce}, prints, false},
	}
	for _, tt := range tests {
		r := &jobRun{job: tt.job, task: tt.task}
		if got := r.still(); got != tt.want {
			t.Errorf("%s: still %t, want %t", tt.name, got, tt.want)
		}
	}
}
