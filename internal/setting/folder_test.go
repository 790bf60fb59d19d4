package setting

import (
	"os"
	"path/filepath"
	"testing"
)

func TestConfigFolderOfEachSystem(t *testing.T) {
	for _, tt := range []struct {
		folders Folders
		want    string
	}{
		{Folders{System: "linux", Home: "/home/ada"}, "/home/ada/.config"},
		{Folders{System: "linux", Home: "/home/ada", ConfigHome: "/etc/ada"}, "/etc/ada"},
		{Folders{System: "linux", Home: "/home/ada", ConfigHome: "relative"}, "/home/ada/.config"},
		{Folders{System: "linux", ConfigHome: ""}, ""},
		{Folders{System: "darwin", Home: "/Users/ada", ConfigHome: "/etc/ada"}, "/Users/ada/Library/Application Support"},
		{Folders{System: "darwin"}, ""},
		{Folders{System: "windows", Home: `C:\Users\ada`, AppData: `C:\Users\ada\AppData\Roaming`}, `C:\Users\ada\AppData\Roaming`},
		{Folders{System: "windows", Home: `C:\Users\ada`}, ""},
	} {
		if tt.folders.System != "windows" && filepath.Separator != '/' {
			continue // paths of other systems are joined as on this one
		}
		if got := tt.folders.Config(); got != tt.want {
			t.Errorf("%+v: got %q, want %q", tt.folders, got, tt.want)
		}
	}
}

// TestConfigFolderIsTheSystems compares the folder with that of the standard library, on whatever system the test runs.
func TestConfigFolderIsTheSystems(t *testing.T) {
	want, err := os.UserConfigDir()
	if err != nil {
		t.Fatal(err)
	}
	if got := UserFolders().Config(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
