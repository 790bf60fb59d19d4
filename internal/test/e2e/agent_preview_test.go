package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/internal/app"
	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/credit"
)

// agent calls tools of a running service.
type agent struct {
	t *testing.T
	// send brings a message to the service, and returns its response.
	send    func(message []byte) []byte
	charged int64 // of all calls
}

// overHTTP sends messages to the service.
func overHTTP(t *testing.T, app *app.App, secret string) func([]byte) []byte {
	t.Helper()
	return func(message []byte) []byte {
		q, err := http.NewRequestWithContext(t.Context(), http.MethodPost, app.URL+"/mcp?toolsets=all", bytes.NewReader(message))
		if err != nil {
			t.Fatal(err)
		}
		q.Header.Set("Authorization", "Bearer "+secret)
		q.Header.Set("Content-Type", "application/json")
		answer, err := (&http.Client{Timeout: pagePatience}).Do(q)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if err != nil || answer.StatusCode != http.StatusOK {
			t.Fatalf("%s, %v: %.2000s", answer.Status, err, text)
		}
		return text
	}
}

// overLines starts `relaypdf mcp`, as desktop clients do, and sends messages to it.
func overLines(t *testing.T, app *app.App, secret string) func([]byte) []byte {
	t.Helper()
	program := exec.CommandContext(context.WithoutCancel(t.Context()), os.Args[0], "mcp") // which ends with its input
	program.Env = []string{actAsProgram + "=1", "HOME=" + t.TempDir(), "RELAYPDF_API_URL=" + app.URL, "RELAYPDF_API_KEY=" + secret}
	in, inErr := program.StdinPipe()
	out, outErr := program.StdoutPipe()
	if err := errors.Join(inErr, outErr, program.Start()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(in.Close(), program.Wait()); err != nil {
			t.Errorf("it ended with %v", err)
		}
	})
	answers := bufio.NewReader(out)
	send := func(message []byte) []byte {
		_, err := in.Write(append(message, '\n'))
		text, readErr := answers.ReadBytes('\n')
		if err := errors.Join(err, readErr); err != nil {
			t.Fatal(err)
		}
		return text
	}
	send([]byte(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`))
	if _, err := io.WriteString(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n"); err != nil {
		t.Fatal(err)
	}
	return send
}

// agentAnswer is the response of a tool: images, sentences, and its JSON.
type agentAnswer struct {
	ID, Status          string
	ChargedMicrodollars int64

	picture image.Image
	bytes   int
	notes   []string
}

func (a *agent) use(tool string, arguments map[string]any) (got agentAnswer) {
	a.t.Helper()
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": map[string]any{"name": tool, "arguments": arguments}})
	if err != nil {
		a.t.Fatal(err)
	}
	text := a.send(body)
	var result struct {
		Result struct {
			IsError           bool
			StructuredContent json.RawMessage
			Content           []struct {
				Type, Text, MIMEType string
				Data                 []byte
			}
		}
	}
	if json.Unmarshal(text, &result) != nil || result.Result.IsError || json.Unmarshal(result.Result.StructuredContent, &got) != nil {
		a.t.Fatalf("%s: %.2000s", tool, text)
	}
	for _, content := range result.Result.Content {
		switch {
		case content.Type == "image":
			if got.picture, err = png.Decode(bytes.NewReader(content.Data)); err != nil || content.MIMEType != "image/png" || got.bytes > 0 {
				a.t.Fatalf("%s: a picture of %s, %v, after one of %d bytes", tool, content.MIMEType, err, got.bytes)
			}
			got.bytes = len(content.Data)
		case content.Type == "text" && content.Text != string(result.Result.StructuredContent):
			got.notes = append(got.notes, content.Text)
		}
	}
	a.charged += got.ChargedMicrodollars
	return got
}

// sees calls a tool until it returns an image: a late image is left out, which a sentence reports.
func (a *agent) sees(tool string, arguments map[string]any, width, height int) agentAnswer {
	a.t.Helper()
	for deadline := time.Now().Add(pagePatience); ; {
		got := a.use(tool, arguments)
		switch {
		case got.picture == nil && len(got.notes) == 1 && time.Now().Before(deadline):
			a.t.Logf("%s: %s", tool, got.notes[0])
			continue
		case got.picture == nil || len(got.notes) > 0:
			a.t.Fatalf("%s shows no picture, and says %q", tool, got.notes)
		}
		if size := got.picture.Bounds().Size(); size != image.Pt(width, height) || got.bytes > 60_000 {
			a.t.Errorf("%s shows a picture of %v and %d bytes, want one of %d × %d", tool, size, got.bytes, width, height)
		}
		return got
	}
}

// colorAt returns the colour of the image at a part of its height, in the middle of the line.
func (got agentAnswer) colorAt(y float64) string {
	size := got.picture.Bounds().Size()
	c, _ := color.NRGBAModel.Convert(got.picture.At(size.X/2, int(y*float64(size.Y)))).(color.NRGBA)
	return fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B)
}

// TestAgentsSeeResults requests images of results, as agents with vision do. They cost nothing.
func TestAgentsSeeResults(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	app := startOpen(t)
	account, err := app.Store.CreateAccount(t.Context(), "agent@example.com", 100*credit.Dollar)
	if err != nil {
		t.Fatal(err)
	}
	_, secret, err := app.Store.CreateKey(t.Context(), store.NewKey{AccountID: account.ID, Name: "agent"})
	if err != nil {
		t.Fatal(err)
	}
	maya := &agent{t: t, send: overHTTP(t, app, secret)}
	const html = `<style>@page{margin:0}body{margin:0}div{height:5.5in;background:#00aa00}p{break-before:page;height:11in;background:#aa0000}</style><div></div><p></p>`
	made := maya.sees("pdf_create", map[string]any{"html": html, "preview": true, "options": map[string]any{"printBackground": true}}, 400, 518)
	if top, bottom := made.colorAt(0.25), made.colorAt(0.75); top != "#00aa00" || bottom != "#ffffff" || made.ChargedMicrodollars != 2000 {
		t.Errorf("page 1 is %s above and %s below, for %d", top, bottom, made.ChargedMicrodollars)
	}
	wide := map[string]any{"width": 1200, "height": 630}
	maya.sees("images_create", map[string]any{"html": html, "preview": true, "options": map[string]any{"viewport": wide, "type": "webp"}}, 400, 210)
	little := map[string]any{"width": 120, "height": 60}
	maya.sees("images_create", map[string]any{"html": html, "preview": true, "options": map[string]any{"viewport": little, "type": "jpeg"}}, 120, 60)

	// Noise is scaled down until it is small enough.
	noise := image.NewNRGBA(image.Rect(0, 0, 700, 700))
	random := rand.New(rand.NewPCG(1, 2))
	for i := range noise.Pix {
		noise.Pix[i] = byte(random.Uint32())
		if i%4 == 3 {
			noise.Pix[i] = 255
		}
	}
	var source bytes.Buffer
	if err := png.Encode(&source, noise); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(pagePatience); ; {
		got := maya.use("images_convert", map[string]any{"file": source.Bytes(), "to": "png", "preview": true})
		if got.picture == nil && time.Now().Before(deadline) {
			t.Logf("noise: %q", got.notes)
			continue
		}
		if got.picture == nil || got.bytes > 60_000 || got.bytes < 20_000 || got.picture.Bounds().Dx() != got.picture.Bounds().Dy() {
			t.Errorf("noise is shown as %d bytes, %q", got.bytes, got.notes)
		}
		break
	}

	// A result without an image is made all the same.
	for deadline := time.Now().Add(pagePatience); ; {
		got := maya.use("pdf_protect", map[string]any{"fileId": made.ID, "userPassword": "a", "preview": true})
		if got.Status != "completed" || got.picture != nil || len(got.notes) != 1 {
			t.Fatalf("an encrypted PDF is shown as %+v", got)
		}
		if strings.Contains(got.notes[0], "encrypted") {
			break
		}
		if t.Logf("encrypted: %s", got.notes[0]); time.Now().After(deadline) {
			t.Fatal("of an encrypted PDF nothing else is said")
		}
	}
	job := maya.use("pdf_rotate", map[string]any{"fileId": made.ID, "degrees": 90, "async": true})
	done := maya.sees("jobs_wait", map[string]any{"id": job.ID, "preview": true}, 400, 309)
	if done.Status != "completed" {
		t.Errorf("the job is %+v", done)
	}
	maya.charged += 500 // of the job, which ended after it was answered

	// On her machine she sees the same.
	maya.send = overLines(t, app, secret)
	here := maya.sees("pdf_create", map[string]any{"html": html, "preview": true, "options": map[string]any{"printBackground": true}}, 400, 518)
	if top, bottom := here.colorAt(0.25), here.colorAt(0.75); top != "#00aa00" || bottom != "#ffffff" || here.ChargedMicrodollars != 2000 {
		t.Errorf("by standard output page 1 is %s above and %s below, for %d", top, bottom, here.ChargedMicrodollars)
	}
	maya.sees("jobs_wait", map[string]any{"id": job.ID, "preview": true}, 400, 309)
	usage := struct{ TotalMicrodollars int64 }{}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, app.URL+"/v1/billing/usage", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+secret)
	answer, err := (&http.Client{Timeout: pagePatience}).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if err := json.NewDecoder(answer.Body).Decode(&usage); err != nil || usage.TotalMicrodollars != maya.charged {
		t.Errorf("%d was charged, %v; the calls said %d", usage.TotalMicrodollars, err, maya.charged)
	}
}
