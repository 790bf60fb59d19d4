// Command sbom prints the components of an executable and its images as CycloneDX JSON: the linked modules, by the
// executable's build information; the bundled or installed npm packages, by their lock files; and the Debian
// packages that the Dockerfile installs, in today's versions.
//
//	go run -modfile=.ci/sbom.mod ./.ci/sbom PROGRAM
package main

import (
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: sbom PROGRAM")
		os.Exit(2)
	}

	bom, err := describe(os.Args[1])
	if err == nil {
		// Fewer programs read the newest version of the format.
		err = cdx.NewBOMEncoder(os.Stdout, cdx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bom, cdx.SpecVersion1_6)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

func describe(program string) (*cdx.BOM, error) {
	modules, self, err := modules(program)
	if err != nil {
		return nil, err
	}
	assets, err := packages(".ci/assets/package-lock.json", "embedded")
	if err != nil {
		return nil, err
	}
	fonts, err := packages(".ci/fonts/package-lock.json", "image")
	if err != nil {
		return nil, err
	}
	debian, err := debian("Dockerfile")
	if err != nil {
		return nil, err
	}

	bom := cdx.NewBOM()
	all := slices.Concat(modules, assets, fonts, debian)
	bom.Metadata = &cdx.Metadata{Component: &self}
	bom.Components = &all
	return bom, nil
}

// part adds to a component the place where it is used.
func part(c cdx.Component, where string) cdx.Component {
	c.BOMRef = c.PackageURL + "#" + where
	c.Properties = &[]cdx.Property{{Name: "relaypdf:part", Value: where}}
	return c
}

// modules returns the modules that an executable was linked from, as its build information lists them.
func modules(program string) (list []cdx.Component, self cdx.Component, err error) {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return nil, self, err
	}
	licences, err := licences("docs/licenses.md")
	if err != nil {
		return nil, self, err
	}

	self = cdx.Component{
		BOMRef: "relaypdf", Type: cdx.ComponentTypeApplication, Name: "relaypdf", Version: info.Main.Version,
		Licenses: named("MIT"),
	}
	list = append(list, part(cdx.Component{
		Type: cdx.ComponentTypeLibrary, Name: "std", Version: strings.TrimPrefix(info.GoVersion, "go"),
		Licenses:   named("BSD-3-Clause"),
		PackageURL: "pkg:golang/std@" + strings.TrimPrefix(info.GoVersion, "go"),
	}, "linked"))

	for _, m := range info.Deps {
		licence := licences[m.Path]
		if m.Replace != nil {
			m = m.Replace
		}
		list = append(list, part(cdx.Component{
			Type: cdx.ComponentTypeLibrary, Name: m.Path, Version: m.Version, Licenses: named(licence...),
			PackageURL: "pkg:golang/" + m.Path + "@" + url.QueryEscape(m.Version),
		}, "linked"))
	}

	return list, self, nil
}

var licenceRow = regexp.MustCompile(`(?m)^\| (\S+) \| ([^|]+) \| (?:program|tests) \|$`)

// licences returns the licences of modules, from the list that `make licenses` writes.
func licences(file string) (map[string][]string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	all := map[string][]string{}
	for _, row := range licenceRow.FindAllStringSubmatch(string(text), -1) {
		all[row[1]] = strings.Split(row[2], ", ")
	}
	if len(all) == 0 {
		return nil, errors.New(file + " has no list of modules")
	}
	return all, nil
}

// named returns licences by their SPDX names, or by their owners' names.
func named(names ...string) *cdx.Licenses {
	var list cdx.Licenses
	for _, name := range names {
		switch {
		case strings.Contains(name, " OR ") || strings.Contains(name, " AND "):
			return &cdx.Licenses{{Expression: name}}
		case name == "":
		case strings.Contains(name, " "):
			list = append(list, cdx.LicenseChoice{License: &cdx.License{Name: name}})
		default:
			list = append(list, cdx.LicenseChoice{License: &cdx.License{ID: name}})
		}
	}

	if list == nil {
		return nil
	}
	return &list
}

// packages returns the packages of an npm lock file, which may list one more than once.
func packages(file, where string) (list []cdx.Component, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}

	var lock struct {
		Packages map[string]struct {
			Version, Integrity, License string
			Dev                         bool
		}
	}
	if err := json.Unmarshal(text, &lock); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}

	for at, p := range lock.Packages {
		i := strings.LastIndex(at, "node_modules/")
		if i < 0 || p.Dev {
			continue // ours, or no part of it
		}

		name := at[i+len("node_modules/"):]
		sum, ok := strings.CutPrefix(p.Integrity, "sha512-")
		hash, err := base64.StdEncoding.DecodeString(sum)
		if !ok || err != nil {
			return nil, fmt.Errorf("%s: %s has no hash SHA-512", file, name)
		}
		list = append(list, part(cdx.Component{
			Type: cdx.ComponentTypeLibrary, Name: name, Version: p.Version, Licenses: named(p.License),
			Hashes:     &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA512, Value: hex.EncodeToString(hash)}},
			PackageURL: "pkg:npm/" + strings.Replace(name, "@", "%40", 1) + "@" + url.QueryEscape(p.Version),
		}, where))
	}

	slices.SortFunc(list, func(a, b cdx.Component) int { return strings.Compare(a.BOMRef, b.BOMRef) })
	return slices.CompactFunc(list, func(a, b cdx.Component) bool { return a.BOMRef == b.BOMRef }), nil
}

var (
	stage     = regexp.MustCompile(`(?m)^FROM (?:--\S+ )?\S+ AS (\w+)$`)
	installed = regexp.MustCompile(`apt-get install -y --no-install-recommends((?:[^&\n\\]|\\\n)+)`)
)

// debian are the packages that the stages of a Dockerfile install by their names,
// but for the one that only builds.
func debian(file string) (list []cdx.Component, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}

	stages := stage.FindAllStringSubmatchIndex(string(text), -1)
	for i, at := range stages {
		end := len(text)
		if i+1 < len(stages) {
			end = stages[i+1][0]
		}
		name := string(text[at[2]:at[3]])
		body := string(text[at[1]:end])
		if name == "build" {
			continue
		}

		for _, command := range installed.FindAllStringSubmatch(body, -1) {
			for _, p := range strings.Fields(strings.ReplaceAll(command[1], "\\\n", " ")) {
				list = append(list, part(cdx.Component{
					Type: cdx.ComponentTypeLibrary, Name: p, PackageURL: "pkg:deb/debian/" + p + "?distro=debian-13",
				}, "image "+name))
			}
		}
	}

	if len(list) == 0 {
		return nil, errors.New(file + " installs nothing")
	}
	return list, nil
}
