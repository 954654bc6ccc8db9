package clustertest

import (
	"strings"
	"testing"
)

// begin begins a goroutine from another one, which ends, and returns the function that ends it.
func begin() (end func()) {
	hold, began, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		go func() {
			defer close(ended)
			close(began)
			<-hold
		}()
	}()
	<-began
	return func() {
		close(hold)
		<-ended
	}
}

// Goroutines are attributed to the test that began them.
func TestGoroutinesOfATest(t *testing.T) {
	t.Parallel()
	end := begin()
	defer end()
	for _, name := range []string{"one", "other"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			VerifyNoLeaks(t)
			VerifyNoLeaks(t)
			end := begin()
			found := 0
			for _, stack := range goroutinesOf(t.Name()) {
				if strings.Contains(stack, "clustertest.begin") {
					found++
				}
			}
			if found != 1 {
				t.Errorf("%d of one goroutine was found", found)
			}
			end()
		})
	}
}
