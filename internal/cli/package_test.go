package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// TestPackageNeedsWhatSetupInstalls compares the packages that the .deb depends on and recommends with those that
// `.ci/setup run` installs.
func TestPackageNeedsWhatSetupInstalls(t *testing.T) {
	root := filepath.Join("..", "..")
	text, err := os.ReadFile(filepath.Join(root, ".goreleaser.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var config struct {
		NFPMs []struct {
			Overrides map[string]struct{ Dependencies, Recommends []string }
		}
	}
	if err := yaml.Unmarshal(text, &config); err != nil {
		t.Fatal(err)
	}
	deb := config.NFPMs[0].Overrides["deb"]
	packaged := slices.Concat(deb.Dependencies, deb.Recommends)

	setup, err := os.ReadFile(filepath.Join(root, ".ci", "setup"))
	if err != nil {
		t.Fatal(err)
	}
	var installed []string
	for _, list := range regexp.MustCompile(`(?ms)^(?:run|office)_packages=\((.*?)\)$`).FindAllStringSubmatch(string(setup), -1) {
		for line := range strings.Lines(list[1]) {
			line, _, _ = strings.Cut(line, "#")
			installed = append(installed, strings.Fields(line)...)
		}
	}

	slices.Sort(packaged)
	slices.Sort(installed)
	if len(installed) < 30 || !slices.Equal(packaged, installed) {
		t.Errorf("the .deb has\n%q\nand .ci/setup installs\n%q", packaged, installed)
	}
}
