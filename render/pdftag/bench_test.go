package pdftag

import (
	"os"
	"testing"
)

func BenchmarkDev(b *testing.B) {
	for _, n := range []string{"x-rows1500", "x-report"} {
		data, _ := os.ReadFile("/tmp/ua/tagged/" + n + ".pdf")
		b.Run(n, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Conform(data, Options{Standards: []Standard{UA1}}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
