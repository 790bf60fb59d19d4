package einvoice

import (
	"cmp"
	"crypto/sha256"
	"encoding/xml"
	"fmt"
	"html"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// officialFile has the rules that the official judges find broken in each document of officialDocuments: name, the
// beginning of its SHA-256, and the IDs of errors; XSD stands for the schema and for what a profile does not use. The
// judges are the XML schemas and Schematron of EN 16931 (EUPL), XRechnung and Factur-X. No part of them is in the
// repository.
//
// testdata/schema.py and testdata/facturx.py write schema.txt and facturx.txt from the same checkouts.
//
// To write it again, set OFFICIAL to a folder with checkouts of ConnectingEurope/eInvoicing-EN16931 (version 1.3.16),
// itplr-kosit/xrechnung-schematron (2.5.0) and ZUGFeRD/mustangproject (which has Factur-X 1.09.2), named eInvoicing-EN16931,
// xrechnung-schematron and mustangproject, and install libsaxonhe-java:
//
//	OFFICIAL=DIR go test ./render/einvoice -run TestOfficialRules
const officialFile = "testdata/official.txt"

// mutants is the number of changed documents.
const mutants = 2000

// officialDocuments returns valid invoices in all profiles and syntaxes, those with planted faults, and valid ones in which
// one or two things are changed.
func officialDocuments(t *testing.T) map[string][]byte {
	t.Helper()
	documents := map[string][]byte{}
	add := func(name string, invoice *Invoice, syntax Syntax, profile Profile) {
		document, err := Write(invoice, syntax, profile)
		if err != nil {
			t.Fatal(err)
		}
		documents[name+"-"+string(profile)+"-"+string(syntax)] = document
	}
	for n, p := range plantedInvoices() {
		for _, syntax := range []Syntax{CII, UBL} {
			add(fmt.Sprintf("planted-%03d", n), p.invoice, syntax, p.profile)
		}
	}
	for seed := range uint64(60) {
		for _, profile := range Profiles() {
			for _, syntax := range []Syntax{CII, UBL} {
				if syntax == CII || profile == EN16931 || profile == XRechnung {
					add(fmt.Sprintf("good-%03d", seed), generateFor(seed, profile), syntax, profile)
				}
			}
		}
	}

	for seed := range uint64(generated) { // as the XML in a PDF
		document, err := Write(generateFor(seed, EN16931), CII, EN16931)
		if err != nil {
			t.Fatal(err)
		}
		documents[fmt.Sprintf("embedded-%03d", seed)] = document
	}

	good := slices.Sorted(maps.Keys(documents))
	good = slices.DeleteFunc(good, func(name string) bool { return !strings.HasPrefix(name, "good") })
	kinds := slices.Sorted(maps.Keys(mutations))
	r := rand.New(rand.NewPCG(58, 1))
	for n := range mutants {
		source := good[r.IntN(len(good))]
		document := documents[source]
		for range 1 + r.IntN(2) {
			all := spans(document)
			changed := mutations[kinds[r.IntN(len(kinds))]](document, all, all[1+r.IntN(len(all)-1)], r)
			if changed != nil {
				document = changed
			}
		}
		name := strings.SplitN(source, "-", 3)[2]
		documents[fmt.Sprintf("mutant-%04d-%s", n, name)] = document
		if name == "en16931-cii" {
			documents[fmt.Sprintf("embedded-mutant-%04d", n)] = document
		}
	}
	return documents
}

// generateFor makes a valid invoice of a profile. The smaller ones have no rounding of the amount due, and the schema of
// XRechnung has one preceding invoice. Some invoices of XRechnung are those of its extension.
func generateFor(seed uint64, profile Profile) *Invoice {
	invoice := generate(seed)
	invoice.Specification = profile.Specification()
	if t := invoice.Totals; profile.level() < EN16931.level() && t.Rounding != nil {
		due := t.Due.minus(*t.Rounding)
		t.Due, t.Rounding = &due, nil
	}
	if profile == XRechnung {
		xrechnung(invoice)
		if seed%5 == 1 {
			invoice.Specification = xrechnungExtension
		}
	}
	return invoice
}

// TestOfficialRules holds our rules to the official ones: both find the same errors in each document. Valid invoices
// have none.
func TestOfficialRules(t *testing.T) {
	t.Parallel()
	documents := officialDocuments(t)
	if checkouts := os.Getenv("OFFICIAL"); checkouts != "" {
		writeOfficial(t, checkouts, documents)
	}
	text, err := os.ReadFile(officialFile)
	if err != nil {
		t.Fatal(err)
	}

	seen, invalid := 0, 0
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		name, official := words[0], words[2:]
		seen++
		if words[1] != digest(documents[name]) {
			t.Errorf("%s is another document than the official rules have checked; see the comment of officialFile", name)
			continue
		}
		if (strings.HasPrefix(name, "good") || strings.HasPrefix(name, "embedded-") && !strings.Contains(name, "mutant")) && len(official) > 0 {
			t.Errorf("%s breaks %v", name, official)
		}
		if len(official) > 0 {
			invalid++
		}
		if ours := ourErrors(documents[name], embedded(name)); !agree(ours, official) {
			t.Errorf("%s: we find %v, the official rules %v", name, ours, official)
		}
	}
	if seen != len(documents) || invalid < mutants/3 {
		t.Fatalf("%d documents, %d results, %d of them invalid", len(documents), seen, invalid)
	}
}

// agree reports whether two lists of errors are the same. Official rules are not run after an error of the schema.
func agree(ours, official []string) bool {
	if slices.Contains(official, "failed") { // such as a rule about one value where there are two
		return len(ours) > 0
	}
	if slices.Contains(official, Structure) {
		return slices.Contains(ours, Structure)
	}
	return slices.Equal(ours, official)
}

// embedded reports whether a document is to be judged as the XML in a PDF: its name begins so.
func embedded(file string) bool { return strings.HasPrefix(filepath.Base(file), "embedded") }

// ourErrors are the IDs of the errors that we find in a document.
func ourErrors(document []byte, embedded bool) (ids []string) {
	read, err := Read(document)
	if err != nil {
		return []string{"unread"}
	}
	read.Embedded = embedded
	for _, f := range append(read.Findings, read.Check()...) {
		if f.Severity == Error {
			ids = append(ids, f.Rule)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

func digest(document []byte) string { return fmt.Sprintf("%.6x", sha256.Sum256(document)) }

// writeOfficial judges documents and writes officialFile.
func writeOfficial(t *testing.T, checkouts string, documents map[string][]byte) {
	t.Helper()
	folder := t.TempDir()
	files := map[string]string{}
	for name, document := range documents {
		files[name] = filepath.Join(folder, name+".xml")
		if err := os.WriteFile(files[name], document, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	results := judge(t, checkouts, slices.Collect(maps.Values(files)))
	var lines []string
	for name, document := range documents {
		lines = append(lines, strings.TrimSpace(name+" "+digest(document)+" "+strings.Join(results[files[name]], " ")))
	}
	slices.SortFunc(lines, cmp.Compare)
	if err := os.WriteFile(officialFile, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestCorpus compares our errors with those of the official rules for all e-invoices in a folder. Set CORPUS to the folder
// and OFFICIAL as for TestOfficialRules:
//
//	OFFICIAL=DIR CORPUS=DIR go test ./render/einvoice -run TestCorpus -v
func TestCorpus(t *testing.T) {
	corpus := os.Getenv("CORPUS")
	if corpus == "" {
		return
	}
	var files []string
	err := filepath.WalkDir(corpus, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".xml" {
			return err
		}
		text, err := os.ReadFile(path)
		if _, unread := Read(text); unread == nil {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	disagreements := map[string][]string{}
	rejects, accepts := 0, 0
	for file, official := range judge(t, os.Getenv("OFFICIAL"), files) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		ours := ourErrors(text, embedded(file))
		switch {
		case len(ours) > 0 && len(official) == 0:
			rejects++
		case len(ours) == 0 && len(official) > 0:
			accepts++
		}
		if agree(ours, official) {
			continue
		}
		for _, id := range ours {
			if !slices.Contains(official, id) {
				disagreements["only we: "+id] = append(disagreements["only we: "+id], file)
			}
		}
		for _, id := range official {
			if !slices.Contains(ours, id) {
				disagreements["only official: "+id] = append(disagreements["only official: "+id], file)
			}
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(disagreements)) {
		t.Errorf("%s: %d, such as %s", kind, len(disagreements[kind]), disagreements[kind][0])
	}
	t.Logf("%d documents, %d false rejects, %d false accepts", len(files), rejects, accepts)
}

// judge returns the errors that the official judges find in files.
func judge(t *testing.T, checkouts string, files []string) map[string][]string {
	t.Helper()
	folder := t.TempDir()
	sheets := officialSheets(t, checkouts, folder)
	var list strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&list, "%s\t%s\n", file, strings.Join(sheetsOf(text, embedded(file)), ","))
	}
	var table strings.Builder
	for _, name := range slices.Sorted(maps.Keys(sheets)) {
		kind := "xslt"
		if strings.HasSuffix(sheets[name], ".xsd") {
			kind = "xsd"
		}
		fmt.Fprintf(&table, "%s\t%s\t%s\n", name, kind, sheets[name])
	}
	for name, text := range map[string]string{"sheets": table.String(), "files": list.String()} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	java := exec.CommandContext(t.Context(), "java", "-cp", "/usr/share/java/Saxon-HE.jar", "testdata/Judge.java",
		filepath.Join(folder, "sheets"), filepath.Join(folder, "files"), filepath.Join(folder, "out"))
	if out, err := java.CombinedOutput(); err != nil {
		t.Fatalf("%v: %.2000s", err, out)
	}
	out, err := os.ReadFile(filepath.Join(folder, "out"))
	if err != nil {
		t.Fatal(err)
	}
	results := map[string][]string{}
	for line := range strings.Lines(string(out)) {
		words := strings.Split(strings.TrimRight(line, "\n"), "\t")
		results[words[0]] = append(results[words[0]], errorsOf(words[0], words[2])...)
	}
	for file := range results {
		slices.Sort(results[file])
		results[file] = slices.Compact(results[file])
	}
	return results
}

// errorsOf are the errors in a result of the judge, with the severities that the configuration of KoSIT's validator gives
// them.
func errorsOf(file, result string) (ids []string) {
	text, _ := os.ReadFile(file)
	read, err := Read(text)
	if err != nil {
		return nil
	}
	switch {
	case strings.HasPrefix(result, "XSD:"):
		if read.Profile == EN16931 && strings.Count(result, "cvc-") == 1 && strings.Contains(result, "starting with element") && strings.Contains(result, "InvoiceReferencedDocument}'. One of") {
			return nil // EN 16931 allows several, the schema D16B one
		}
		return []string{Structure}
	case strings.HasPrefix(result, "DYN"), strings.HasPrefix(result, "PARSE"):
		return []string{"failed"}
	}
	for word := range strings.FieldsSeq(result) {
		at := strings.LastIndexByte(word, '/')
		id, flag := word[:at], word[at+1:]
		severity := Error
		if flag == "warning" || flag == "information" {
			severity = Warning
		}
		if changed, ok := read.severities()[id]; ok {
			severity = changed
		}
		if strings.HasPrefix(id, "T:") { // what a profile does not use, which has no ID
			id = Structure
		}
		if severity == Error {
			ids = append(ids, id)
		}
	}
	return ids
}

// sheetsOf are the names of the judges for a document.
func sheetsOf(text []byte, embedded bool) []string {
	read, err := Read(text)
	switch {
	case err != nil:
		return nil
	case read.Syntax == UBL && read.Profile == XRechnung:
		return []string{"xsd-" + read.root.local(), "ubl", "xrechnung-ubl"}
	case read.Syntax == UBL:
		return []string{"xsd-" + read.root.local(), "ubl"}
	case read.Profile == XRechnung:
		return []string{"xsd-cii", "cii", "xrechnung-cii"}
	case read.Profile == EN16931 && embedded:
		return []string{"xsd-cii", "cii", "facturx-en16931"}
	case read.Profile == EN16931:
		return []string{"xsd-cii", "cii"}
	}
	return []string{"xsd-" + string(read.Profile), "facturx-" + string(read.Profile)}
}

// officialSheets are the files of the judges by name. Those of XRechnung are compiled from Schematron.
func officialSheets(t *testing.T, checkouts, folder string) map[string]string {
	t.Helper()
	en, mustang := filepath.Join(checkouts, "eInvoicing-EN16931"), checkouts+"/mustangproject/validator/src/main/resources"
	sheets := map[string]string{
		"cii": en + "/cii/xslt/EN16931-CII-validation.xslt", "ubl": en + "/ubl/xslt/EN16931-UBL-validation.xslt",
		"xsd-cii":     en + "/cii/schema/D16B SCRDM (Subset)/uncoupled clm/CII/uncefact/data/standard/CrossIndustryInvoice_100pD16B.xsd",
		"xsd-Invoice": mustang + "/schema/UBL_21/maindoc/UBL-Invoice-2.1.xsd", "xsd-CreditNote": mustang + "/schema/UBL_21/maindoc/UBL-CreditNote-2.1.xsd",
	}
	for _, profile := range []Profile{Minimum, BasicWL, Basic, EN16931, Extended} {
		name := strings.ToUpper(string(profile))
		sheets["facturx-"+string(profile)] = mustang + "/xslt/ZF_250/FACTUR-X_" + name + ".xslt"
		sheets["xsd-"+string(profile)] = mustang + "/schema/ZF_250/" + name + "/FACTUR-X_" + strings.ReplaceAll(name, "-", "") + ".xsd"
	}
	for _, syntax := range []string{"cii", "ubl"} {
		source := checkouts + "/xrechnung-schematron/src/validation/schematron/" + syntax + "/XRechnung-" + strings.ToUpper(syntax) + "-validation.sch"
		sheets["xrechnung-"+syntax] = filepath.Join(folder, "xrechnung-"+syntax+".xslt")
		if err := os.WriteFile(sheets["xrechnung-"+syntax], schematronSheet(t, source), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return sheets
}

// schematron is a Schematron file, as far as that of XRechnung needs it.
type schematron struct {
	Includes []struct {
		Href string `xml:"href,attr"`
	} `xml:"include"`
	Patterns []schematronPattern `xml:"pattern"`
}

type schematronPattern struct {
	Lets  []schematronLet `xml:"let"`
	Rules []struct {
		Context string          `xml:"context,attr"`
		Lets    []schematronLet `xml:"let"`
		Asserts []struct {
			ID   string `xml:"id,attr"`
			Flag string `xml:"flag,attr"`
			Test string `xml:"test,attr"`
		} `xml:"assert"`
	} `xml:"rule"`
}

type schematronLet struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

// schematronSheet compiles Schematron to XSLT.
func schematronSheet(t *testing.T, file string) []byte {
	t.Helper()
	parse := func(file string, into any) {
		text, err := os.ReadFile(file)
		if err == nil {
			err = xml.Unmarshal(text, into)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	var source schematron
	parse(file, &source)
	patterns := source.Patterns
	for _, include := range source.Includes {
		var pattern schematronPattern
		parse(filepath.Join(filepath.Dir(file), include.Href), &pattern)
		patterns = append([]schematronPattern{pattern}, patterns...)
	}

	var out, modes, templates strings.Builder
	variable := func(b *strings.Builder, l schematronLet) {
		fmt.Fprintf(b, `<xsl:variable name="%s" select="%s"/>`, l.Name, html.EscapeString(l.Value))
	}
	out.WriteString(`<xsl:stylesheet version="2.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform" xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns:u="utils"`)
	for prefix, uri := range namespaces {
		fmt.Fprintf(&out, ` xmlns:%s="%s"`, prefix, uri)
	}
	out.WriteString(`>`)
	for mode, pattern := range patterns {
		for _, l := range pattern.Lets {
			if strings.HasPrefix(l.Value, "rsm:") {
				l.Value = "/" + l.Value
			}
			variable(&out, l)
		}
		fmt.Fprintf(&modes, `<xsl:apply-templates select="/" mode="m%d"/>`, mode)
		for n, rule := range pattern.Rules {
			fmt.Fprintf(&templates, `<xsl:template match="%s" priority="%d" mode="m%d">`, html.EscapeString(rule.Context), 1000-n, mode)
			for _, l := range rule.Lets {
				variable(&templates, l)
			}
			for _, a := range rule.Asserts {
				fmt.Fprintf(&templates, `<xsl:if test="not(%s)"><failed-assert id="%s" flag="%s"/></xsl:if>`, html.EscapeString(a.Test), a.ID, a.Flag)
			}
			fmt.Fprintf(&templates, `<xsl:apply-templates select="node()" mode="m%d"/></xsl:template>`, mode)
		}
		fmt.Fprintf(&templates, `<xsl:template match="text()" priority="-10" mode="m%[1]d"/><xsl:template match="*|/" priority="-9" mode="m%[1]d"><xsl:apply-templates select="node()" mode="m%[1]d"/></xsl:template>`, mode)
	}
	fmt.Fprintf(&out, `<xsl:template match="/"><out>%s</out></xsl:template>%s</xsl:stylesheet>`, modes.String(), templates.String())
	return []byte(out.String())
}
