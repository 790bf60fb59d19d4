package main

import (
	"bufio"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"relaypdf/api/operation"
	"relaypdf/api/schema"
)

// officeFigures are those of an office document that becomes a PDF.
type officeFigures struct {
	// Warm is against an office program that runs already and is spoken to over
	// its own protocol, Cold against one that is started for each document.
	Warm toolFigures `json:"warm"`
	Cold toolFigures `json:"cold"`
	// Parallel is the rate of two documents at once, in that of one at a time.
	Parallel float64 `json:"parallel"`
	Goal     float64 `json:"goalParallel"`
}

const (
	officeFactor = 1.5
	// officeParallelGoal leaves room for what two office programs share.
	officeParallelGoal = 1.5

	convertOperation = "convert.create"
	docxName         = "document.docx"
)

// office measures the conversion of a DOCX, where this build can do that.
func (l *lab) office(ctx context.Context, r *report) (err error) {
	table, err := schema.NewTable(operation.Rows)
	if err != nil || table.Lookup(convertOperation) == nil {
		return err
	}
	l.say("office documents")
	dir, err := os.MkdirTemp(l.dir, "office-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	f := &fixtures{dir: dir, files: map[string][]byte{}}
	cold := "-env:UserInstallation=file://" + filepath.Join(dir, "cold")
	if err := f.makeDOCX(ctx, cold); err != nil {
		return err
	}
	raw, err := startRawOffice(ctx, f.dir)
	if err != nil {
		return err
	}
	defer raw.stop()
	call := toolRequest("/v1/convert", with(f.pdf(docxName), "sourceFilename", docxName), pdfMagic)
	figures := &officeFigures{Goal: officeParallelGoal}
	figures.Warm, err = measureTool(ctx, l, tool{
		name: "docx to pdf, office running", factor: officeFactor, operation: convertOperation, call: call, hand: raw.convert,
	})
	if err != nil {
		return err
	}
	figures.Cold, err = measureTool(ctx, l, tool{
		name: "docx to pdf, office started", operation: convertOperation, call: call,
		hand: f.program("soffice", cold, "--headless", "--convert-to", "pdf", docxName),
	})
	if err != nil {
		return err
	}
	r.Office = figures
	return scaleOffice(ctx, l, figures, l.own(call))
}

// scaleOffice compares two documents at once with one at a time.
func scaleOffice(ctx context.Context, l *lab, figures *officeFigures, ours work) error {
	if err := repeat(ctx, 2, 4, ours); err != nil {
		return err
	}
	var rates [2][]float64
	for range choose(l, 5, 1) {
		for i := range rates {
			s, err := closedLoop(ctx, i+1, choose(l, 2*time.Second, 100*time.Millisecond), ours)
			if err != nil {
				return err
			}
			rates[i] = append(rates[i], s.rate)
		}
	}
	figures.Parallel = median(rates[1]) / median(rates[0])
	return nil
}

// makeDOCX makes the document of ten pages that is converted.
func (f *fixtures) makeDOCX(ctx context.Context, profile string) error {
	if err := f.add("document.html", []byte(chapters(10))); err != nil {
		return err
	}
	export := f.program("soffice", profile, "--headless", "--infilter=HTML (StarWriter)", "--convert-to", "docx:MS Word 2007 XML", "document.html")
	if err := export(ctx, 0); err != nil {
		return err
	}
	content, err := os.ReadFile(filepath.Join(f.dir, docxName))
	if err != nil {
		return err
	}
	f.files[docxName] = content
	return nil
}

// rawOffice is a running office program and the script that speaks to it.
type rawOffice struct {
	dir     string
	office  *exec.Cmd
	script  *exec.Cmd
	orders  io.WriteCloser
	answers *bufio.Scanner
}

//go:embed uno.py
var unoScript string

// officePython is the system's own Python: only it has Debian's UNO.
const officePython = "/usr/bin/python3"

func startRawOffice(ctx context.Context, dir string) (_ *rawOffice, err error) {
	pipe := filepath.Base(dir)
	r := &rawOffice{dir: dir}
	r.office = exec.CommandContext(ctx, "soffice", "-env:UserInstallation=file://"+filepath.Join(dir, "warm"),
		"--accept=pipe,name="+pipe+";urp;", "--headless", "--invisible", "--nologo", "--nodefault", "--norestore", "--nolockcheck")
	// It is a script that starts others; all of them end together.
	r.office.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	r.script = exec.CommandContext(ctx, officePython, "-I", "-c", unoScript, pipe)
	if r.orders, err = r.script.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := r.script.StdoutPipe()
	if err != nil {
		return nil, err
	}
	r.answers = bufio.NewScanner(out)
	if err := r.office.Start(); err != nil {
		return nil, err
	}
	if err := errors.Join(r.script.Start(), r.hear("ready")); err != nil {
		r.stop()
		return nil, fmt.Errorf("start the office: %w", err)
	}
	return r, nil
}

// convert makes a PDF of the document.
func (r *rawOffice) convert(context.Context, int) error {
	address := func(name string) string {
		return (&url.URL{Scheme: "file", Path: filepath.Join(r.dir, name)}).String()
	}
	if _, err := io.WriteString(r.orders, address(docxName)+"\t"+address("raw.pdf")+"\n"); err != nil {
		return err
	}
	return r.hear("done")
}

func (r *rawOffice) hear(want string) error {
	if !r.answers.Scan() {
		return errors.Join(errors.New("the script for the office ended"), r.answers.Err())
	}
	if got := strings.TrimSpace(r.answers.Text()); got != want {
		return fmt.Errorf("the script for the office said %q, want %q", got, want)
	}
	return nil
}

// stop ends both by force: there is nothing of worth in the profile.
func (r *rawOffice) stop() {
	_ = syscall.Kill(-r.office.Process.Pid, syscall.SIGKILL)
	_ = r.orders.Close()
	_ = r.office.Wait()
	if r.script.Process != nil {
		_ = r.script.Process.Kill()
		_ = r.script.Wait()
	}
}
