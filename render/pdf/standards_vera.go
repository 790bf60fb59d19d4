package pdf

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/relaypdf/relaypdf/render/engine"
	"github.com/relaypdf/relaypdf/render/pdf/form"
	"github.com/relaypdf/relaypdf/render/pdfcheck"
	"github.com/relaypdf/relaypdf/render/pdffile"
)

const (
	// veraTime is the time for all standards. A document that takes longer is checked by our own rules.
	veraTime = 45 * time.Second
	// veraFailed is the exit code for a document that does not conform.
	veraFailed = 1
)

// askVeraPDF checks a document with veraPDF. It returns false if veraPDF is not installed, or gives no verdict.
func askVeraPDF(ctx context.Context, w *engine.Work, name string, standards []pdffile.Standard) (pdfcheck.Report, bool, error) {
	report := pdfcheck.Report{Engine: "verapdf"}
	bounded, cancel := context.WithTimeout(ctx, veraTime)
	defer cancel()

	for _, s := range standards {
		out, err := w.Exec(bounded, engine.Program{
			Name: "verapdf",
			Args: veraArgs(s, engine.PathArg(name)),
			Env:  form.JavaEnv(),
			OK:   []int{veraFailed},
		})
		if ctx.Err() != nil {
			return report, false, fmt.Errorf("verapdf: %w", context.Cause(ctx))
		}
		var exit *engine.ExitError
		switch {
		case errors.As(err, &exit), errors.Is(err, engine.ErrNoProgram), errors.Is(err, engine.ErrOutputTooLarge), errors.Is(err, context.DeadlineExceeded):
			return report, false, nil
		case err != nil:
			return report, false, err
		}

		result, ok := readVeraPDF(out, s)
		if !ok {
			return report, false, nil
		}
		report.Results = append(report.Results, result)
	}

	report.Sum()
	return report, true, nil
}

// veraArgs returns the arguments of veraPDF that check a file by a standard.
func veraArgs(s pdffile.Standard, path string) []string {
	flavour := strings.ReplaceAll(strings.TrimPrefix(string(s), "a-"), "-", "")
	return []string{"--flavour", flavour, "--maxfailuresdisplayed", strconv.Itoa(pdfcheck.MaxPlaces), path}
}

// veraReport is veraPDF's report.
type veraReport struct {
	Validation []struct {
		Status    string `xml:"jobEndStatus,attr"`
		Compliant *bool  `xml:"isCompliant,attr"`
		Rules     []struct {
			Clause      string `xml:"clause,attr"`
			Test        int    `xml:"testNumber,attr"`
			Status      string `xml:"status,attr"`
			Failed      int    `xml:"failedChecks,attr"`
			Description string `xml:"description"`
			Checks      []struct {
				Status  string `xml:"status,attr"`
				Context string `xml:"context"`
				Message string `xml:"errorMessage"`
			} `xml:"check"`
		} `xml:"details>rule"`
	} `xml:"jobs>job>validationReport"`
}

var (
	veraPage   = regexp.MustCompile(`/pages\[(\d+)\]`)
	veraObject = regexp.MustCompile(`\((\d+) (\d+) obj`)
)

// readVeraPDF reads a report; false means that it has no verdict.
func readVeraPDF(text []byte, s pdffile.Standard) (pdfcheck.Result, bool) {
	var report veraReport
	result := pdfcheck.Result{Standard: s, Violations: []pdfcheck.Violation{}, Unchecked: []string{}}
	if start := bytes.Index(text, []byte("<?xml")); start > 0 {
		text = text[start:] // after messages
	}
	if xml.Unmarshal(text, &report) != nil || len(report.Validation) != 1 {
		return result, false
	}

	v := report.Validation[0]
	if v.Compliant == nil || v.Status != "" && v.Status != "normal" {
		return result, false
	}
	result.Conforms = v.Compliant

	for _, rule := range v.Rules {
		if rule.Status != "failed" {
			continue
		}

		violation := pdfcheck.Violation{Clause: rule.Clause, Test: rule.Test, Places: []pdfcheck.Place{}}
		violation.Message, violation.Fix = pdfcheck.Describe(s, rule.Clause, rule.Test)
		if violation.Message == "" {
			violation.Message = strings.Join(strings.Fields(rule.Description), " ")
		}

		for _, check := range rule.Checks {
			page := 0
			object := ""
			if m := veraPage.FindStringSubmatch(check.Context); m != nil {
				n, err := strconv.Atoi(m[1])
				if page = n + 1; err != nil {
					page = 0
				}
			}
			if all := veraObject.FindAllStringSubmatch(check.Context, -1); len(all) > 0 {
				object = all[len(all)-1][1] + " " + all[len(all)-1][2] + " R"
			}
			violation.Add(page, object)
		}

		violation.Count = max(violation.Count, rule.Failed)
		result.Violations = append(result.Violations, violation)
	}
	return result, len(result.Violations) > 0 != *v.Compliant
}
