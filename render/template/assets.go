package template

import (
	"embed"
	"errors"
	"fmt"
	"sync"

	"github.com/dop251/goja"
)

// assets holds Handlebars.js, which `make assets` puts there; see
// assets/README.md.
//
//go:embed assets
var assets embed.FS

//go:embed js
var sources embed.FS

// errAssets means that the program was built without Handlebars.js.
var errAssets = errors.New("this program was built without Handlebars.js: " +
	"run `make assets` in its source (it needs npm and the network), then build it again")

// programs is the JavaScript that every realm begins with, compiled once.
type programs struct {
	compiler, runtime        *goja.Program // Handlebars' halves
	compile, analyse, render *goja.Program // ours around them
}

var loadPrograms = sync.OnceValues(func() (*programs, error) {
	p := &programs{}
	for _, part := range []struct {
		into *(*goja.Program)
		fs   embed.FS
		file string
	}{
		{&p.compiler, assets, "assets/compiler.js"}, {&p.runtime, assets, "assets/runtime.js"},
		{&p.compile, sources, "js/compile.js"}, {&p.analyse, sources, "js/analyse.js"},
		{&p.render, sources, "js/render.js"},
	} {
		text, err := part.fs.ReadFile(part.file)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errAssets, err)
		}
		// Modules are strict, which decides the value of `this` in a helper.
		if *part.into, err = goja.Compile(part.file, string(text), true); err != nil {
			return nil, fmt.Errorf("%s: %w", part.file, err)
		}
	}
	return p, nil
})

// Check returns errAssets if this executable contains no Handlebars.js.
func Check() error {
	_, err := assets.ReadFile("assets/compiler.js")
	if err == nil {
		_, err = assets.ReadFile("assets/runtime.js")
	}

	if err != nil {
		return errAssets
	}
	return nil
}
