package util

import (
	"os"

	"github.com/onsi/gomega"

	"sigs.k8s.io/kueue/pkg/util/tapped/testutil"
)

// ForgetAdmissionAttempts begins to count them anew.
func ForgetAdmissionAttempts(attempts interface{ Reset() }) {
	attempts.Reset()
	if os.Getenv("KUELOG_SUITE_PYTHON") != "" {
		gomega.Expect(testutil.Forget("kueue_admission_attempts_total")).To(gomega.Succeed())
	}
}
