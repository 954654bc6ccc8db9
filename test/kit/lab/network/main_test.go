package network

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	os.Exit(Inside(func() int {
		code := m.Run()
		if code == 0 {
			if err := goleak.Find(); err != nil {
				println(err.Error())
				return 1
			}
		}
		return code
	}))
}
