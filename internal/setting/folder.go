package setting

import (
	"os"
	"path/filepath"
	"runtime"
)

// Folders are the folders of a user on a system.
type Folders struct {
	System     string // as in runtime.GOOS
	Home       string
	AppData    string // %AppData% on Windows
	ConfigHome string // $XDG_CONFIG_HOME, which only Linux has
}

// UserFolders returns those of the user that runs the process. A folder is empty if there is none.
func UserFolders() Folders {
	home, _ := os.UserHomeDir()
	return Folders{
		System: runtime.GOOS, Home: home,
		AppData:    os.Getenv("AppData"),         //nolint:forbidigo // the system's own
		ConfigHome: os.Getenv("XDG_CONFIG_HOME"), //nolint:forbidigo // the system's own
	}
}

// Config returns the folder in which programs keep their configuration on the system, like os.UserConfigDir; empty if
// there is none.
func (f Folders) Config() string {
	switch {
	case f.System == "windows":
		return f.AppData
	case f.System != "darwin" && filepath.IsAbs(f.ConfigHome):
		return f.ConfigHome
	case f.Home == "":
		return ""
	case f.System == "darwin":
		return filepath.Join(f.Home, "Library", "Application Support")
	}
	return filepath.Join(f.Home, ".config")
}
